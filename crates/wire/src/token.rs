//! The secret that every member of a run knows.

use std::fmt;
use std::str::FromStr;

use hmac::{Hmac, Mac};
use sha2::Sha256;
use thiserror::Error;

/// The secret that every member of a run knows: 32 random bytes.
///
/// It is compared only inside a MAC, never crosses a connection, and `Debug`
/// does not show it.
#[derive(Clone)]
pub struct Token([u8; Token::LENGTH]);

/// Why a text is no token. The text itself is not repeated: it may be a secret
/// with a typing error.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TokenError {
    /// Not 64 characters.
    #[error("a token has 64 hexadecimal digits, not {0} characters")]
    Length(usize),
    /// A character that is no hexadecimal digit.
    #[error("character {0} of the token is not a hexadecimal digit")]
    Digit(usize),
}

/// The system gave no random bytes.
#[derive(Debug, Error)]
#[error("the system gives no random bytes")]
pub struct RandomnessError(#[source] getrandom::Error);

impl Token {
    const LENGTH: usize = 32;

    /// A new token from the system's random source.
    ///
    /// # Errors
    ///
    /// The system gives no random bytes.
    pub fn random() -> Result<Self, RandomnessError> {
        random_bytes().map(Self)
    }

    /// The token as 64 hexadecimal digits, to hand it to another process by
    /// its environment or a private file. Never log it.
    pub fn reveal(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// HMAC-SHA256 under this token, begun with `purpose` so that a MAC made
    /// for one purpose is worthless for another.
    pub(crate) fn mac(&self, purpose: &str) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of every length");
        // The zero ends the purpose: none is a prefix of another.
        mac.update(purpose.as_bytes());
        mac.update(&[0]);
        mac
    }

    /// A secret derived from this token for one purpose.
    pub(crate) fn derive(&self, purpose: &str) -> [u8; 32] {
        self.mac(purpose).finalize().into_bytes().into()
    }
}

/// Fresh random bytes.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], RandomnessError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(RandomnessError)?;
    Ok(bytes)
}

impl FromStr for Token {
    type Err = TokenError;

    /// Reads 64 hexadecimal digits; space around them (the newline at the end
    /// of a file) does not count.
    fn from_str(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let length = text.chars().count();
        if length != 2 * Self::LENGTH {
            return Err(TokenError::Length(length));
        }
        let mut bytes = [0; Self::LENGTH];
        for (index, digit) in text.chars().enumerate() {
            let value = digit.to_digit(16).ok_or(TokenError::Digit(index + 1))?;
            let value = u8::try_from(value).expect("a hexadecimal digit is below 16");
            bytes[index / 2] = bytes[index / 2] << 4 | value;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_its_text() {
        let text = "00ff0123456789abcdefABCDEF0000000000000000000000000000000000007f";
        let token: Token = format!("{text}\n").parse().unwrap();
        assert_eq!(token.reveal(), text.to_lowercase());
    }

    #[test]
    fn debug_hides_the_token() {
        let token = Token([0xab; 32]);
        assert_eq!(format!("{token:?}"), "Token(hidden)");
    }

    #[test]
    fn broken_tokens_are_refused_without_being_repeated() {
        let check = |text: &str, expected| {
            assert_eq!(text.parse::<Token>().map(|t| t.reveal()), Err(expected));
        };
        check("", TokenError::Length(0));
        check("abc", TokenError::Length(3));
        check(&"é".repeat(64), TokenError::Digit(1));
        check(&format!("{}g", "0".repeat(63)), TokenError::Digit(64));
    }

    #[test]
    fn derived_secrets_differ_by_purpose_and_token() {
        let (one, two) = (Token([1; 32]), Token([2; 32]));
        assert_ne!(one.derive("a"), one.derive("b"));
        assert_ne!(one.derive("a"), two.derive("a"));
        assert_eq!(one.derive("a"), one.derive("a"));
    }

    #[test]
    fn the_mac_is_hmac_sha256() {
        // RFC 4231, test case 1, with this module's zero appended by neither
        // side: the message is "Hi There", the key 20 bytes of 0x0b. Tokens
        // have 32 bytes, so the case is checked on the primitive.
        let mut mac = Hmac::<Sha256>::new_from_slice(&[0x0b; 20]).unwrap();
        mac.update(b"Hi There");
        let hex: String = mac
            .finalize()
            .into_bytes()
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(
            hex,
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
    }
}
