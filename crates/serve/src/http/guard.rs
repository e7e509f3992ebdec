//! Who may ask what.
//!
//! Everybody needs the token: in the URL, once; then in a cookie, which no script reads
//! and no other site sends along; or as a bearer, for programs. Only a bearer may change
//! anything, so that no page of another site can, and nobody who only watches.

use axum::http::{HeaderMap, Method, StatusCode, header};

/// What a server knows of itself.
#[derive(Debug, Clone)]
pub(super) struct Door {
    pub(super) token: String,
    pub(super) port: u16,
}

/// What is done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passage {
    /// It may pass.
    Free,
    /// It may, and is given the cookie.
    WithCookie,
    /// It may not.
    Closed(StatusCode, &'static str),
}

impl Door {
    /// The cookie's name: two servers of a machine share their cookies otherwise.
    pub(super) fn cookie_name(&self) -> String {
        format!("paceline-{}", self.port)
    }

    pub(super) fn passage(
        &self,
        method: &Method,
        headers: &HeaderMap,
        query: Option<&str>,
    ) -> Passage {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        if !text(header::HOST).is_some_and(|host| self.is_own(host)) {
            // A name that somebody made point here (DNS rebinding).
            return Passage::Closed(StatusCode::MISDIRECTED_REQUEST, "this is not that host");
        }
        if let Some(origin) = text(header::ORIGIN) {
            let host = origin.strip_prefix("http://");
            if !host.is_some_and(|host| self.is_own(host)) {
                return Passage::Closed(StatusCode::FORBIDDEN, "another site asks");
            }
        }
        let bearer = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        if let Some(bearer) = bearer {
            return match self.is_token(bearer) {
                true => Passage::Free,
                false => Passage::Closed(StatusCode::UNAUTHORIZED, "the token is wrong"),
            };
        }
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Passage::Closed(
                StatusCode::UNAUTHORIZED,
                "only a bearer of the token may change anything",
            );
        }
        let in_url = query.into_iter().flat_map(|query| query.split('&'));
        let in_url = in_url.filter_map(|part| part.strip_prefix("token=")).next();
        if in_url.is_some_and(|token| self.is_token(token)) {
            return Passage::WithCookie;
        }
        let name = self.cookie_name();
        let cookies = headers.get_all(header::COOKIE).iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let mut cookies = cookies.flat_map(|value| value.split(';'));
        let known = cookies.any(|cookie| {
            let (own, value) = cookie.trim().split_once('=').unwrap_or_default();
            own == name && self.is_token(value)
        });
        match known {
            true => Passage::Free,
            false => Passage::Closed(
                StatusCode::UNAUTHORIZED,
                "the token is missing: open the address that `paceline serve` printed",
            ),
        }
    }

    fn is_own(&self, host: &str) -> bool {
        let port = self.port;
        ["127.0.0.1", "localhost", "[::1]"]
            .iter()
            .any(|name| *host == format!("{name}:{port}"))
    }

    /// Compares without telling by its time how much was right.
    fn is_token(&self, said: &str) -> bool {
        let (own, said) = (self.token.as_bytes(), said.as_bytes());
        let same = own.iter().zip(said).fold(0, |sum, (a, b)| sum | (a ^ b));
        own.len() == said.len() && same == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &str, headers: &[(&str, &str)], query: &str) -> Passage {
        let door = Door {
            token: "secret".to_owned(),
            port: 80,
        };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: axum::http::HeaderName = name.parse().unwrap();
            map.append(name, value.parse().unwrap());
        }
        let query = (!query.is_empty()).then_some(query);
        door.passage(&method.parse().unwrap(), &map, query)
    }

    fn is_closed(passage: Passage, code: u16) -> bool {
        matches!(passage, Passage::Closed(status, _) if status == code)
    }

    const HOST: (&str, &str) = ("host", "127.0.0.1:80");
    const COOKIE: (&str, &str) = ("cookie", "a=b; paceline-80=secret");
    const BEARER: (&str, &str) = ("authorization", "Bearer secret");

    #[test]
    fn the_token_opens_and_nothing_else_does() {
        assert_eq!(check("GET", &[HOST], "token=secret"), Passage::WithCookie);
        assert_eq!(check("GET", &[HOST, COOKIE], ""), Passage::Free);
        assert_eq!(check("POST", &[HOST, BEARER], ""), Passage::Free);
        for query in ["", "token=", "token=secre", "token=secrets", "t=secret"] {
            assert!(is_closed(check("GET", &[HOST], query), 401), "{query}");
        }
        let other_port = ("cookie", "paceline-81=secret");
        assert!(is_closed(check("GET", &[HOST, other_port], ""), 401));
        assert!(is_closed(
            check(
                "GET",
                &[HOST, ("authorization", "Bearer no")],
                "token=secret"
            ),
            401
        ));
    }

    #[test]
    fn who_only_watches_can_change_nothing() {
        for method in ["POST", "DELETE", "PUT", "PATCH", "OPTIONS"] {
            assert!(
                is_closed(check(method, &[HOST, COOKIE], "token=secret"), 401),
                "{method}"
            );
        }
    }

    #[test]
    fn another_name_and_another_site_are_turned_away_even_with_the_token() {
        for host in [
            "evil.example:80",
            "127.0.0.1",
            "127.0.0.1:81",
            "localhost.evil.example:80",
        ] {
            assert!(
                is_closed(check("GET", &[("host", host), BEARER], ""), 421),
                "{host}"
            );
        }
        assert!(is_closed(check("GET", &[BEARER], ""), 421));
        for origin in ["http://evil.example", "null", "https://127.0.0.1:80"] {
            let found = check("POST", &[HOST, BEARER, ("origin", origin)], "");
            assert!(is_closed(found, 403), "{origin}");
        }
        let own = check(
            "POST",
            &[HOST, BEARER, ("origin", "http://localhost:80")],
            "",
        );
        assert_eq!(own, Passage::Free);
    }
}
