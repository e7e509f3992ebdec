//! Closing a record: logs become tables, and the manifest is written last.

use crate::WallTime;
use crate::disk::{At, WriteRecordError, sync_dir, write_whole};
use crate::iterations::{logs_in_live, read_log};
use crate::json::{FileJson, ManifestJson};
use crate::layout;
use crate::log::{ScanError, join_logs, names, verify_logs};
use crate::manifest::{End, Manifest, Notice};
use crate::run::ReadTableError;
use crate::sums::{announced, sums_of};
use crate::table::{
    Chunk, EventRows, IterationRows, PartRows, SampleRows, TableWriter, WrittenTable,
};
use crate::wal::{Codec, Cut, EventCodec, SampleCodec, WalReader};
use indexmap::IndexMap;
use paceline_model::{Micros, NodeName, RunNotice};
use std::io;
use std::path::Path;

/// Closes the record in `dir`. The caller holds the lock and has stopped
/// writing. `end` learns the time of the last entry.
///
/// May be repeated after a failure or a crash: until the manifest has its name,
/// the logs in `live/` are the record.
pub(crate) fn close(
    dir: &Path,
    mut manifest: Manifest,
    end: impl FnOnce(Micros) -> End,
) -> Result<Manifest, WriteRecordError> {
    let scanned = |ScanError { path, source }| WriteRecordError::io(&path, source);
    // Before the pieces are joined: afterwards their checksums fit no file.
    let mut notices = verify_logs(dir, manifest.start.log_limit).map_err(scanned)?;
    let logs = join_logs(dir, manifest.start.log_limit)?;
    let samples_dir = dir.join(layout::SAMPLES);
    paceline_files::create_directory(&samples_dir).at(&samples_dir)?;

    manifest.logs.clear();

    let mut last = Micros::ZERO;
    let mut tables = Vec::new();
    for node in nodes_in_live(dir).map_err(scanned)? {
        let converted = convert_samples(dir, &node, manifest.start.started)?;
        last = last.max(converted.last);
        notices.extend(converted.cuts);
        tables.extend(converted.tables);
    }
    let converted = convert_events(dir, manifest.start.started)?;
    last = last.max(converted.last);
    notices.extend(converted.cuts);
    tables.extend(converted.tables);
    let converted = convert_iterations(dir, manifest.start.started)?;
    notices.extend(converted.cuts);
    tables.extend(converted.tables);
    let mut files = commit(dir, tables)?;
    for (summary, sum) in logs {
        files.insert(layout::log_table(summary.worker, summary.stream), sum);
        manifest.logs.push(summary);
    }

    let mut end = end(last);
    end.notices.extend(notices);
    let json = ManifestJson::new(&manifest, &end, files);
    manifest.end = Some(end);
    let text = crate::json::to_text(&json);
    write_whole(&dir.join(layout::MANIFEST), text.as_bytes())?;

    remove_leftovers(dir);
    Ok(manifest)
}

/// Removes what only a living record needs. A reader that finds a manifest
/// looks at none of it, so a failure costs only space.
pub(crate) fn remove_leftovers(dir: &Path) {
    let _ = paceline_files::remove_directory(&dir.join(layout::LIVE));
    let _ = paceline_files::remove_file(&dir.join(layout::START));
    let _ = paceline_files::remove_file(&dir.join(layout::LOCK));
}

/// The nodes that have a log of samples.
pub(crate) fn nodes_in_live(dir: &Path) -> Result<Vec<NodeName>, ScanError> {
    let mut nodes: Vec<NodeName> = names(&dir.join(layout::LIVE))?
        .iter()
        .filter_map(|(name, _)| layout::node_of_wal(name))
        .collect();
    nodes.sort();
    Ok(nodes)
}

/// Says to the user what a crash has cost, once a log has been read to its end.
pub(crate) fn end_notice<C: Codec>(path: &Path, log: &WalReader<C>) -> io::Result<Option<Notice>> {
    let file = path.display().to_string();
    if let Some(Cut { offset, bytes }) = log.cut() {
        let notice = RunNotice::CutLog {
            file,
            bytes,
            offset,
        };
        return Ok(Some(notice.into()));
    }
    let offset = log.offset();
    // Between two entries a lost end leaves no trace in the log itself.
    let announced = announced(&sums_of(path))?.unwrap_or(0);
    Ok(announced
        .checked_sub(offset)
        .filter(|missing| *missing > 0)
        .map(|bytes| {
            let notice = RunNotice::ShortLog {
                file,
                bytes,
                offset,
            };
            notice.into()
        }))
}

/// The tables of one log, complete but without their names.
struct Converted {
    tables: Vec<(String, WrittenTable)>,
    last: Micros,
    cuts: Vec<Notice>,
}

fn convert_samples(
    dir: &Path,
    node: &NodeName,
    started: WallTime,
) -> Result<Converted, WriteRecordError> {
    let (samples_name, parts_name) = (layout::samples_table(node), layout::parts_table(node));
    let mut samples = TableWriter::create(&dir.join(&samples_name), SampleRows::fields())?;
    let mut parts = TableWriter::create(&dir.join(&parts_name), PartRows::fields())?;
    let mut sample_rows = Chunk::new(&SampleRows::fields());
    let mut part_rows = Chunk::new(&PartRows::fields());
    let mut last = Micros::ZERO;
    let wal = layout::samples_wal(dir, node);
    let cut = for_each::<SampleCodec>(&wal, |sample| {
        last = last.max(sample.at);
        SampleRows::push(&mut sample_rows, started, &sample);
        if sample_rows.is_full() {
            samples.write(&mut sample_rows)?;
        }
        for part in &sample.parts {
            PartRows::push(&mut part_rows, started, sample.at, part);
            if part_rows.is_full() {
                parts.write(&mut part_rows)?;
            }
        }
        Ok(())
    })?;
    samples.write(&mut sample_rows)?;
    parts.write(&mut part_rows)?;
    Ok(Converted {
        tables: vec![
            (samples_name, samples.finish()?),
            (parts_name, parts.finish()?),
        ],
        last,
        cuts: cut.into_iter().collect(),
    })
}

fn convert_events(dir: &Path, started: WallTime) -> Result<Converted, WriteRecordError> {
    let mut table = TableWriter::create(&dir.join(layout::EVENTS), EventRows::fields())?;
    let mut rows = Chunk::new(&EventRows::fields());
    let mut last = Micros::ZERO;
    let cut = for_each::<EventCodec>(&layout::events_wal(dir), |event| {
        last = last.max(event.at);
        EventRows::push(&mut rows, started, &event);
        if rows.is_full() {
            table.write(&mut rows)?;
        }
        Ok(())
    })?;
    table.write(&mut rows)?;
    Ok(Converted {
        tables: vec![(layout::EVENTS.to_owned(), table.finish()?)],
        last,
        cuts: cut.into_iter().collect(),
    })
}

/// All workers' iterations in one table; none if nobody wrote any.
fn convert_iterations(dir: &Path, started: WallTime) -> Result<Converted, WriteRecordError> {
    let logs = logs_in_live(dir)
        .map_err(|ScanError { path, source }| WriteRecordError::io(&path, source))?;
    let mut converted = Converted {
        tables: Vec::new(),
        last: Micros::ZERO,
        cuts: Vec::new(),
    };
    if logs.is_empty() {
        return Ok(converted);
    }
    let mut table = TableWriter::create(&dir.join(layout::ITERATIONS), IterationRows::fields())?;
    let mut rows = Chunk::new(&IterationRows::fields());
    for (worker, path) in logs {
        let unreadable = |error| WriteRecordError::ReadBack(ReadTableError::from_wal(&path, error));
        let cut = read_log(&path, unreadable, |iteration| {
            IterationRows::push(&mut rows, started, worker, &iteration);
            if rows.is_full() {
                table.write(&mut rows)?;
            }
            Ok(())
        })?;
        converted.cuts.extend(cut);
    }
    table.write(&mut rows)?;
    let table = (layout::ITERATIONS.to_owned(), table.finish()?);
    converted.tables.push(table);
    Ok(converted)
}

/// Passes every item of a log to `each`; a log that does not exist has none.
fn for_each<C: Codec>(
    path: &Path,
    mut each: impl FnMut(C::Item) -> Result<(), WriteRecordError>,
) -> Result<Option<Notice>, WriteRecordError> {
    let unreadable = |error| WriteRecordError::ReadBack(ReadTableError::from_wal(path, error));
    if !path.exists() {
        return Ok(None);
    }
    let mut log = WalReader::<C>::open(path).map_err(unreadable)?;
    while let Some(item) = log.next().map_err(unreadable)? {
        each(item)?;
    }
    end_notice(path, &log).at(path)
}

/// Syncs every table at once, so that the file system commits them together,
/// and then gives them their names.
fn commit(
    dir: &Path,
    mut tables: Vec<(String, WrittenTable)>,
) -> Result<IndexMap<String, FileJson>, WriteRecordError> {
    std::thread::scope(|scope| {
        let syncs: Vec<_> = tables
            .iter_mut()
            .map(|(_, table)| scope.spawn(|| table.sync()))
            .collect();
        syncs
            .into_iter()
            .try_for_each(|sync| sync.join().expect("syncing a file does not panic"))
    })?;
    let mut files = IndexMap::new();
    for (name, table) in tables {
        files.insert(name, table.commit()?);
    }
    sync_dir(&dir.join(layout::SAMPLES))?;
    sync_dir(&dir.join(layout::LOG))?;
    // Before the manifest: one that survives a loss of power without its tables
    // would make a record that looks whole and is not.
    sync_dir(dir)?;
    Ok(files)
}
