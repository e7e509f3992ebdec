//! What cargo knows of the workspace and its dependencies.

use crate::shell;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeSet;

/// A package of the dependency graph.
pub(super) struct Package {
    pub(super) name: String,
    /// The folder's name, for packages of this workspace.
    pub(super) folder: Option<String>,
    /// Names of the packages it needs to be built, tests aside.
    pub(super) needs: BTreeSet<String>,
    /// Names under which its sources know its dependencies, those of tests included.
    pub(super) declares: BTreeSet<String>,
}

/// All packages, those of the workspace first.
pub(super) struct Metadata {
    pub(super) packages: Vec<Package>,
}

impl Metadata {
    pub(super) fn load() -> Result<Self> {
        let text = shell::output("cargo", &["metadata", "--format-version", "1", "--locked"])?;
        let json: Value = serde_json::from_str(&text).context("cargo metadata is not JSON")?;
        let members: BTreeSet<&str> = strings(&json["workspace_members"]).collect();
        let packages = json["packages"]
            .as_array()
            .context("cargo metadata lists no packages")?
            .iter()
            .map(|package| read(package, &members))
            .collect::<Result<_>>()?;
        Ok(Self { packages })
    }

    pub(super) fn workspace(&self) -> impl Iterator<Item = (&Package, &str)> {
        self.packages
            .iter()
            .filter_map(|p| p.folder.as_deref().map(|folder| (p, folder)))
    }
}

fn read(package: &Value, members: &BTreeSet<&str>) -> Result<Package> {
    let text = |key: &str| package[key].as_str().map(str::to_owned);
    let id = package["id"].as_str().context("a package has an id")?;
    let folder = members
        .contains(id)
        .then(|| text("manifest_path"))
        .flatten()
        .and_then(|path| {
            let folder = std::path::Path::new(&path).parent()?.file_name()?;
            Some(folder.to_string_lossy().into_owned())
        });
    let needs = package["dependencies"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|dependency| dependency["kind"].as_str() != Some("dev"))
        .filter_map(|dependency| dependency["name"].as_str().map(str::to_owned))
        .collect();
    let declares = package["dependencies"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|dependency| {
            let renamed = dependency["rename"].as_str();
            renamed.or(dependency["name"].as_str()).map(str::to_owned)
        })
        .collect();
    Ok(Package {
        declares,
        name: text("name").context("a package has a name")?,
        folder,
        needs,
    })
}

fn strings(array: &Value) -> impl Iterator<Item = &str> {
    array
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}
