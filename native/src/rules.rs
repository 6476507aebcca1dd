// SPDX-License-Identifier: Apache-2.0
//! Makes the routing rules in keyfiles the same at every call.
//!
//! nmstate keeps rules in a hash set, so that it numbers them in another order each time. And when
//! several interfaces have routes, any of those that suit a rule's table may get the rule. Muster's
//! images shall be reproducible: rules are numbered by priority, and the most suitable keyfile, the
//! first of equals, gets the rule, which is one of the results nmstate could have given.
//! Remove this when nmstate sorts both by itself.
//!
//! What it cannot mend: nmstate drops the rule when its choice falls on an interface whose
//! document has no section for that family (no `ipv4`, not even a disabled one).

use std::collections::HashMap;
use std::mem;

const RULE_KEY: &str = "routing-rule";
const INPUT_INTERFACE: &str = "iif"; // codespell:ignore iif
const MAIN_TABLE: &str = "254";

pub(crate) fn settle(keyfiles: &mut [(String, String)]) {
    if keyfiles.iter().any(|(_, text)| text.contains(RULE_KEY)) {
        settle_family(keyfiles, "[ipv4]\n");
        settle_family(keyfiles, "[ipv6]\n");
    }
}

fn settle_family(keyfiles: &mut [(String, String)], header: &str) {
    let mut sections: Vec<Section<'_>> = keyfiles
        .iter_mut()
        .filter_map(|(_, text)| Section::cut(text, header))
        .collect();
    let homes = choose_homes(&sections);
    for index in 0..sections.len() {
        for rule in mem::take(&mut sections[index].rules) {
            let home = if find_word(&rule, INPUT_INTERFACE).is_some() {
                None // nmstate puts it with that interface
            } else {
                find_word(&rule, "table").and_then(|table| homes.get(table))
            };
            sections[home.copied().unwrap_or(index)].rules.push(rule);
        }
    }
    for section in sections {
        section.paste();
    }
}

/// By table, the section for its rules. A table that is not there belongs to no interface with
/// routes; such rules nmstate assigns by other means, always in the same way.
fn choose_homes(sections: &[Section<'_>]) -> HashMap<String, usize> {
    let mut best: HashMap<&str, (Reluctance, usize)> = HashMap::new();
    for (index, section) in sections.iter().enumerate() {
        for (table, reluctance) in section.tables() {
            let offer = (reluctance, index);
            let least = best.entry(table).or_insert(offer);
            *least = offer.min(*least);
        }
    }
    best.into_iter()
        .map(|(table, (_, index))| (table.to_owned(), index))
        .collect()
}

/// nmstate does not ask whether the family is enabled, but without it a rule would be in vain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reluctance {
    HasRoute,
    IsAutomatic,
    IsDisabled,
}

/// The word behind `name` in a rule such as `priority 100 from 192.0.2.0/24 table 200`.
fn find_word<'a>(rule: &'a str, name: &str) -> Option<&'a str> {
    rule.split(' ').skip_while(|word| *word != name).nth(1)
}

/// The settings of one address family in one keyfile.
struct Section<'a> {
    keyfile: &'a mut String,
    start: usize,
    end: usize,
    has_routes: bool,
    rules: Vec<String>,
    others: Vec<String>,
}

impl<'a> Section<'a> {
    fn cut(keyfile: &'a mut String, header: &str) -> Option<Self> {
        let start = keyfile.find(header)? + header.len();
        let length = keyfile[start..].find("\n\n").map(|last| last + 1);
        let end = length.map_or(keyfile.len(), |length| start + length);
        let (rules, others): (Vec<_>, Vec<_>) = keyfile[start..end]
            .lines()
            .partition(|line| line.starts_with(RULE_KEY));
        Some(Self {
            has_routes: keyfile.contains("\nroute0="),
            rules: rules
                .into_iter()
                .filter_map(|line| Some(line.split_once('=')?.1.to_owned()))
                .collect(),
            others: others.into_iter().map(str::to_owned).collect(),
            keyfile,
            start,
            end,
        })
    }

    fn paste(mut self) {
        self.rules.sort_by_cached_key(|rule| {
            let priority = find_word(rule, "priority").and_then(|word| word.parse::<u32>().ok());
            (priority, rule.clone())
        });
        let place = self.others.partition_point(|line| line.as_str() < RULE_KEY);
        let numbered = self.rules.iter().enumerate();
        self.others.splice(
            place..place,
            numbered.map(|(number, rule)| format!("{RULE_KEY}{number}={rule}")),
        );
        let text: String = self
            .others
            .iter()
            .flat_map(|line| [line.as_str(), "\n"])
            .collect();
        self.keyfile.replace_range(self.start..self.end, &text);
    }

    /// The tables whose rules nmstate might have put here.
    fn tables(&self) -> impl Iterator<Item = (&str, Reluctance)> {
        let automatic = if self.others.iter().any(|line| line == "method=disabled") {
            Reluctance::IsDisabled
        } else {
            Reluctance::IsAutomatic
        };
        self.others
            .iter()
            .filter(|line| line.starts_with("route"))
            .filter_map(|line| line.split_once("_options=table="))
            .filter_map(|(_, options)| Some((options.split(',').next()?, Reluctance::HasRoute)))
            .chain([(self.automatic_table(), automatic)])
            .filter(|_| self.has_routes)
    }

    /// Where the routes from DHCP or router advertisements go.
    fn automatic_table(&self) -> &str {
        self.others
            .iter()
            .find_map(|line| line.strip_prefix("route-table="))
            .filter(|table| *table != "0")
            .unwrap_or(MAIN_TABLE)
    }
}
