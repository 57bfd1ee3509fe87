//! Decides which requests are answered: only those that come from the page which this server
//! serves.
//!
//! A page of another site can make a browser send requests to this computer. Such a request has the
//! `Origin` of that site. If the site has pointed its own name to this computer (DNS rebinding),
//! the request has this name as its `Host`. Both are refused. A server that other computers reach
//! does not know all of its addresses. So it accepts every numeric address as `Host`, because
//! numbers cannot be rebound, and the names that the user has given.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;

use crate::Shared;

/// The content security policy: scripts, styles and connections come only from this server.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; connect-src 'self'; worker-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// How long a request may take to arrive.
const REQUEST_TIMEOUT_AFTER: Duration = Duration::from_secs(20);

/// The values that requests are checked against.
pub(crate) struct Guard {
    /// The values of the header `Host` that mean this server: addresses with its port.
    hosts: Vec<String>,
    /// If other machines reach the server: the names of this machine, which are accepted with any
    /// port.
    names: Vec<String>,
    token: Option<String>,
}

impl Guard {
    pub(crate) fn new(address: SocketAddr, names: &[String], token: Option<String>) -> Self {
        let port = address.port();
        let mut hosts = vec![address.to_string()];
        if address.ip().is_loopback() || address.ip().is_unspecified() {
            for name in ["localhost", "127.0.0.1", "[::1]"] {
                hosts.push(format!("{name}:{port}"));
            }
        }
        let mut names = names.to_vec();
        names.push("localhost".to_owned());
        Self {
            hosts,
            names,
            token,
        }
    }

    /// Whether a value of `Host` means this server.
    fn accepts(&self, host: &str) -> bool {
        let same = |known: &String| known.eq_ignore_ascii_case(host);
        if self.hosts.iter().any(same) {
            return true;
        }
        let Ok(authority) = host.parse::<Authority>() else {
            return false;
        };
        let name = authority.host();
        let number = name.trim_start_matches('[').trim_end_matches(']');
        let known = |known: &String| known.eq_ignore_ascii_case(name);
        let plain = !host.contains('@');
        let named = number.parse::<IpAddr>().is_ok() || self.names.iter().any(known);
        self.token.is_some() && plain && named
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Returns the status and the reason of a refusal; `None` if the request is accepted.
    fn refusal(&self, headers: &HeaderMap, uri: &Uri) -> Option<(StatusCode, &'static str)> {
        let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let host = text(header::HOST).unwrap_or("");
        let hosts = headers.get_all(header::HOST).iter().count();
        let named = uri.authority().map(|named| named.as_str());
        if hosts > 1 || named.is_some_and(|named| named != host) {
            return Some((StatusCode::BAD_REQUEST, "there are two hosts\n"));
        }
        if !self.accepts(host) {
            let why = match self.token {
                Some(_) => {
                    "this is not a name of the server; `mazurka serve --host NAME` gives it one\n"
                }
                None => "this is not the host of the page\n",
            };
            return Some((StatusCode::FORBIDDEN, why));
        }
        if headers.get_all(header::ORIGIN).iter().count() > 1 {
            return Some((StatusCode::BAD_REQUEST, "there are two origins\n"));
        }
        if let Some(origin) = text(header::ORIGIN) {
            let own = origin.strip_prefix("http://").unwrap_or("?");
            if !own.eq_ignore_ascii_case(host) {
                return Some((
                    StatusCode::FORBIDDEN,
                    "the request comes from another site\n",
                ));
            }
        }
        if let Some(token) = self
            .token
            .as_deref()
            .filter(|_| uri.path().starts_with("/api/"))
        {
            let given = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
            if !given.is_some_and(|given| same(given.as_bytes(), token.as_bytes())) {
                return Some((StatusCode::UNAUTHORIZED, "the token is missing or wrong\n"));
            }
        }
        None
    }
}

/// Whether both are equal. The running time does not depend on where they differ, so measuring it
/// does not help to guess a token.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

/// Refuses requests that are not from the page, and sends the browser the policy of the page.
pub(crate) async fn check(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    let refused = shared.guard.refusal(request.headers(), request.uri());
    let mut response = match refused {
        Some(refusal) => refusal.into_response(),
        // This limits only the time until the response begins; the events of a search come
        // afterwards.
        None => match timeout(REQUEST_TIMEOUT_AFTER, next.run(request)).await {
            Ok(response) => response,
            Err(_) => (
                StatusCode::REQUEST_TIMEOUT,
                "the request took too long to arrive\n",
            )
                .into_response(),
        },
    };
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        let headers = response.headers_mut();
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
