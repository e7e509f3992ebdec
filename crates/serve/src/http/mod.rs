//! The queue and the studies beside it, over HTTP on this machine's own address.

mod guard;
mod listener;
mod openapi;

use crate::request::Request as JobRequest;
use crate::scheduler::{Answer, Queue, SubmitError, now_ms};
use crate::view;
use axum::Json;
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path as UrlPath, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{delete, get, post};
use guard::{Door, Passage};
use listener::{Limited, MOST};
use paceline_answers::report::{ReportQuestion, study as report_on};
use paceline_answers::results::StudyResults;
use paceline_records::{Run, WallTime};
use paceline_report::dossier::{Origin, run_page, study_page, to_the_second};
use parking_lot::{Mutex, RwLock};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io;
use std::net::TcpListener;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

pub use openapi::{ROUTES, openapi};

/// What a server serves.
pub struct Site {
    /// The directory with studies and runs.
    pub dir: PathBuf,
    /// Its queue.
    pub queue: Arc<Queue>,
    /// What opens it.
    pub token: String,
    /// Which Paceline this is.
    pub made_by: String,
}

struct Shared {
    site: Site,
    door: Door,
    /// What everybody sees, made once for all of them.
    seen: RwLock<Arc<String>>,
    /// Held by whoever makes it, so that nothing older replaces it.
    looking: Mutex<()>,
    permits: Arc<Semaphore>,
    pages: RwLock<HashMap<PathBuf, (String, Arc<String>)>>,
}

/// The longest that an answer may take: a study with many runs is fitted in it.
const PATIENCE: Duration = Duration::from_secs(120);
/// The largest request.
const MOST_BYTES: usize = 64 << 10;
/// How often what everybody sees is made anew.
const EVERY: Duration = Duration::from_millis(1000);
/// So many pages are kept.
const MOST_PAGES: usize = 32;

/// Serves until `stop` is true; looks at it several times a second.
///
/// # Errors
/// If the socket cannot be used.
pub fn serve(
    site: Site,
    listener: TcpListener,
    stop: impl Fn() -> bool + Send + 'static,
) -> io::Result<()> {
    let port = listener.local_addr()?.port();
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        // Pages and fits are made on threads of their own, so many at once.
        .max_blocking_threads(8)
        .enable_io()
        .enable_time()
        .build()?;
    let shared = Arc::new(Shared {
        door: Door {
            token: site.token.clone(),
            port,
        },
        seen: RwLock::new(Arc::new(look(&site))),
        looking: Mutex::new(()),
        site,
        permits: Arc::new(Semaphore::new(MOST)),
        pages: RwLock::new(HashMap::new()),
    });
    runtime.block_on(async {
        let listener = Limited {
            listener: tokio::net::TcpListener::from_std(listener)?,
            permits: Arc::clone(&shared.permits),
        };
        let looking = Arc::clone(&shared);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(EVERY).await;
                let own = Arc::clone(&looking);
                // A look that panics is made again a second later.
                let _ = tokio::task::spawn_blocking(move || own.look_again()).await;
            }
        });
        let served = tokio::spawn(async move { axum::serve(listener, router(shared)).await });
        while !stop() && !served.is_finished() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        served.abort();
        Ok(())
    })
}

impl Shared {
    /// Makes anew what everybody sees: whoever changed the queue sees the change.
    fn look_again(&self) {
        let _one_at_a_time = self.looking.lock();
        let made = Arc::new(look(&self.site));
        *self.seen.write() = made;
    }
}

fn look(site: &Site) -> String {
    let (state, progress) = site.queue.seen();
    let mut seen = view::queue(&state, &progress, now_ms(), site.queue.cpus());
    if let (Value::Object(seen), Value::Object(own)) = (&mut seen, view::directory(&site.dir)) {
        seen.extend(own);
    }
    seen.to_string()
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(front))
        .route("/view", get(page))
        .route("/api/state", get(state))
        .route("/api/jobs", post(submit))
        .route("/api/jobs/{id}", delete(cancel))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(|| async { Json(openapi()) }))
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .layer(from_fn_with_state(Arc::clone(&shared), guarded))
        .with_state(shared)
}

/// Lets in whoever may, within the time that there is, and says what a browser may do
/// with the answer.
async fn guarded(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let query = request.uri().query();
    let mut answer = match shared
        .door
        .passage(request.method(), request.headers(), query)
    {
        Passage::Closed(status, why) => (status, Json(json!({ "error": why }))).into_response(),
        Passage::WithCookie => {
            let name = shared.door.cookie_name();
            let cookie = format!(
                "{name}={}; HttpOnly; SameSite=Strict; Path=/",
                shared.door.token
            );
            // The token must not stay in the address, where others read it.
            let mut answer = Redirect::to(request.uri().path()).into_response();
            if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                answer.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            answer
        }
        Passage::Free => match tokio::time::timeout(PATIENCE, next.run(request)).await {
            Ok(answer) => answer,
            Err(_) => StatusCode::GATEWAY_TIMEOUT.into_response(),
        },
    };
    let headers = answer.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // Pages are whole by themselves: nothing is loaded from anywhere else.
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
             img-src data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

async fn front() -> Response {
    html(include_str!("front.html").to_owned())
}

fn html(text: String) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
}

async fn state(State(shared): State<Arc<Shared>>) -> Response {
    let seen = Arc::clone(&shared.seen.read());
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (kind, Body::from(seen.as_bytes().to_vec())).into_response()
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let seen = Arc::clone(&shared.seen.read());
    let seen: Value = serde_json::from_str(&seen).unwrap_or_default();
    let open = MOST - shared.permits.available_permits();
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (kind, view::metrics(&seen, open)).into_response()
}

fn refused(error: &SubmitError) -> Response {
    let status = match error {
        SubmitError::NoJob(_) => StatusCode::NOT_FOUND,
        SubmitError::Write(_) => StatusCode::INSUFFICIENT_STORAGE,
        SubmitError::Full(_) => StatusCode::SERVICE_UNAVAILABLE,
        SubmitError::Request(_) | SubmitError::Options(_) => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let error_text = paceline_model::error_chain(error);
    (
        status,
        Json(json!({ "error": error_text, "hint": error.hint() })),
    )
        .into_response()
}

async fn submit(State(shared): State<Arc<Shared>>, Json(request): Json<JobRequest>) -> Response {
    let decided = tokio::task::spawn_blocking(move || {
        let decided = shared.site.queue.submit(&request);
        shared.look_again();
        decided
    })
    .await;
    let Ok(decided) = decided else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    match decided {
        Ok(Answer::Accepted(known)) => {
            let job = json!({
                "accepted": true,
                "id": known.job.id,
                "title": known.job.work.title(),
                "cpus": known.job.cpus,
                "deadline_ms": known.job.deadline_ms,
                "probability": known.job.probability,
                "predictions": known.job.promise.as_ref().map(|promise| &promise.predictions),
                "because": known.job.because,
            });
            (StatusCode::CREATED, Json(job)).into_response()
        }
        Ok(Answer::Refused(refused, job)) => Json(json!({
            "accepted": false,
            "title": job.work.title(),
            "best_probability": refused.best,
            "nearest_deadline_s": refused.nearest_s,
            "in_the_way": refused.in_the_way,
        }))
        .into_response(),
        Err(error) => refused(&error),
    }
}

async fn cancel(State(shared): State<Arc<Shared>>, UrlPath(id): UrlPath<String>) -> Response {
    let done = tokio::task::spawn_blocking(move || {
        let done = shared.site.queue.cancel(&id);
        shared.look_again();
        done
    })
    .await;
    match done {
        Ok(Ok(())) => Json(json!({ "cancelled": true })).into_response(),
        Ok(Err(error)) => refused(&error),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[derive(serde::Deserialize)]
struct Viewed {
    path: String,
}

/// A study's or a run's page: the report's own, of what is there now.
async fn page(State(shared): State<Arc<Shared>>, Query(viewed): Query<Viewed>) -> Response {
    let made = tokio::task::spawn_blocking(move || made_page(&shared, &viewed.path)).await;
    match made {
        Ok(Some(page)) => html(page.as_ref().clone()),
        Ok(None) => {
            let text = json!({ "error": "there is no study and no run of that name" });
            (StatusCode::NOT_FOUND, Json(text)).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn made_page(shared: &Shared, name: &str) -> Option<Arc<String>> {
    let place = inside(&shared.site.dir, name)?;
    let version = version(&place);
    if let Some((known, page)) = shared.pages.read().get(&place)
        && *known == version
    {
        return Some(Arc::clone(page));
    }
    let origin = Origin {
        source: place.display().to_string(),
        made_by: shared.site.made_by.clone(),
        made_at: to_the_second(&WallTime(now_ms() as i64 * 1000).to_string()),
        ..Origin::default()
    };
    let page = if place.join("plan.json").exists() {
        let results = StudyResults::open(&place).ok()?;
        let report = report_on(Arc::new(results), &ReportQuestion::default()).ok()?;
        study_page(&report, origin)
    } else {
        run_page(&Run::open(&place).ok()?, origin).ok()?.0
    };
    let page = Arc::new(with_return(&page));
    let mut pages = shared.pages.write();
    if pages.len() >= MOST_PAGES {
        pages.clear();
    }
    pages.insert(place, (version, Arc::clone(&page)));
    Some(page)
}

/// The page looks every two seconds whether there is more, and is drawn anew if so.
fn with_return(page: &str) -> String {
    let script = include_str!("again.html");
    match page.rfind("</body>") {
        Some(at) => format!("{}{script}{}", &page[..at], &page[at..]),
        None => format!("{page}{script}"),
    }
}

/// What changes when there is more to see: sizes and times of what only grows.
fn version(place: &Path) -> String {
    let files = [
        "journal.jsonl",
        "manifest.json",
        "wal",
        "events.wal",
        "samples.wal",
        "start.json",
    ];
    let mut text = String::new();
    for file in files {
        if let Ok(about) = std::fs::metadata(place.join(file)) {
            text.push_str(&format!(
                "{file}:{}:{:?};",
                about.len(),
                about.modified().ok()
            ));
        }
    }
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let lengths = entries.filter_map(|entry| entry.metadata().ok());
    let total: u64 = lengths
        .filter(|about| about.is_file())
        .map(|about| about.len())
        .sum();
    format!("{text}{total}")
}

/// A place inside `dir`, or nothing: no name leads out of it.
fn inside(dir: &Path, name: &str) -> Option<PathBuf> {
    let name = Path::new(name);
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !name.components().all(plain) {
        return None;
    }
    let place = std::fs::canonicalize(dir.join(name)).ok()?;
    let root = std::fs::canonicalize(dir).ok()?;
    place.starts_with(&root).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("in/s")).unwrap();
        std::fs::create_dir_all(dir.path().join("out")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("out"), dir.path().join("in/link")).unwrap();
        let root = dir.path().join("in");
        assert!(inside(&root, "s").is_some());
        assert!(inside(&root, ".").is_some());
        for name in ["..", "s/../..", "/etc", "link", "nothing", "../out"] {
            assert_eq!(inside(&root, name), None, "{name}");
        }
    }
}
