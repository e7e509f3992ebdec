//! TLS whose only trust anchor is the run's token.
//!
//! The server's Ed25519 key is derived from the token, and travels as a raw
//! public key (RFC 7250): whoever holds the token knows which key to expect,
//! so there are no certificates, no names and nothing more to distribute. The
//! key exchange is ephemeral; a token that leaks later opens no recorded
//! session. The client proves itself by the handshake inside, bound to this
//! session.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, PeerIncompatible, ServerConfig,
    SignatureScheme,
};

use crate::token::Token;

/// Begins a TLS session as the end that listens.
pub(crate) fn serve(token: &Token) -> Result<rustls::Connection, Error> {
    let key = signing_key(token)?;
    let public = public_key(&*key)?;
    let certified = CertifiedKey::new(vec![CertificateDer::from(public.to_vec())], key);
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(Arc::new(
            certified,
        ))));
    // Members connect once; tickets would be sent for nothing.
    config.send_tls13_tickets = 0;
    Ok(rustls::ServerConnection::new(Arc::new(config))?.into())
}

/// Begins a TLS session as the end that connects.
pub(crate) fn connect(token: &Token) -> Result<rustls::Connection, Error> {
    let verifier = KeyOfToken {
        expected: public_key(&*signing_key(token)?)?,
        provider: provider(),
    };
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.enable_sni = false;
    config.resumption = rustls::client::Resumption::disabled();
    let name = ServerName::try_from("paceline").expect("a plain word is a DNS name");
    Ok(rustls::ClientConnection::new(Arc::new(config), name)?.into())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The Ed25519 key whose seed is derived from the token.
fn signing_key(token: &Token) -> Result<Arc<dyn SigningKey>, Error> {
    // PrivateKeyInfo of RFC 8410, section 7: version 0, id-Ed25519, and the
    // seed as an octet string within an octet string.
    const PREFIX: [u8; 16] = [
        0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04,
        0x20,
    ];
    let mut der = PREFIX.to_vec();
    der.extend_from_slice(&token.derive("paceline tls identity 1"));
    ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(der))
}

fn public_key(key: &dyn SigningKey) -> Result<SubjectPublicKeyInfoDer<'static>, Error> {
    key.public_key()
        .map(SubjectPublicKeyInfoDer::into_owned)
        .ok_or_else(|| Error::General("the key has no public half".to_owned()))
}

/// Accepts the one public key that the token implies.
#[derive(Debug)]
struct KeyOfToken {
    expected: SubjectPublicKeyInfoDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for KeyOfToken {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // Public keys are public: an ordinary comparison leaks nothing.
        if end_entity.as_ref() == self.expected.as_ref() {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::InvalidCertificate(
                CertificateError::ApplicationVerificationFailure,
            ))
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::PeerIncompatible(PeerIncompatible::Tls12NotOffered))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature_with_raw_key(
            message,
            &SubjectPublicKeyInfoDer::from(cert.as_ref()),
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
