//! The numbers behind the sentences, for programs.

use super::json::Numbers;
use paceline_stats::analysis::{Claim, ClaimKind, Finding, FindingKind};
use serde_json::{Map, Value, json};

fn kind(kind: ClaimKind) -> &'static str {
    match kind {
        ClaimKind::Difference => "difference",
        ClaimKind::Slope => "slope",
        ClaimKind::Factor => "factor",
        ClaimKind::FactorPerUnit => "factor_per_unit",
        ClaimKind::Elasticity => "elasticity",
        ClaimKind::Mean => "mean",
        _ => "other",
    }
}

fn finding_kind(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Effect => "effect",
        FindingKind::Comparison => "comparison",
        FindingKind::NoEvidence => "no_evidence",
        FindingKind::Explained => "explained",
        FindingKind::Method => "method",
        FindingKind::Caution => "caution",
        _ => "other",
    }
}

/// One entry per finding, in the order of `findings`.
pub(super) fn as_json(findings: &[Finding], numbers: &mut Numbers) -> Value {
    let all: Vec<Value> = findings
        .iter()
        .map(|finding| {
            let claims: Vec<Value> = finding
                .claims
                .iter()
                .map(|claim| claim_json(claim, numbers))
                .collect();
            json!({
                "kind": finding_kind(finding.kind),
                "term": finding.term,
                "numbers": claims,
            })
        })
        .collect();
    Value::Array(all)
}

fn claim_json(claim: &Claim, numbers: &mut Numbers) -> Value {
    let at: Map<String, Value> = claim
        .at
        .iter()
        .map(|(name, value)| (name.clone(), value.clone().into()))
        .collect();
    let mut put =
        |name: &str, value: f64| numbers.put(&format!("{name} of {}", claim.subject), value);
    json!({
        "kind": kind(claim.kind),
        "of": claim.subject,
        "values": claim.values,
        "at": at,
        "estimate": put("estimate", claim.estimate),
        "lower": put("lower", claim.lower),
        "upper": put("upper", claim.upper),
        "p": claim.p.map(|p| put("p", p)),
    })
}
