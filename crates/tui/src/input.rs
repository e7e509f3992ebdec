//! What keys mean.

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What the user wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// End the command; the second time, kill it.
    End,
    /// Hold the picture still, or let it go on.
    Pause,
    /// Order processes by the next column.
    Sort,
    /// Scroll the output back.
    Back(usize),
    /// Scroll the output forth.
    Forth(usize),
    /// Follow the output again.
    Latest,
    /// Stop the command and give the terminal to the shell.
    Suspend,
    /// The terminal has another size.
    Redraw,
}

/// How far a page key scrolls.
const PAGE: usize = 10;

/// The action that an event of the terminal asks for.
pub(super) fn action(event: &Event) -> Option<Action> {
    match event {
        Event::Resize(..) => Some(Action::Redraw),
        Event::Key(key) if key.kind != KeyEventKind::Release => of_key(key),
        _ => None,
    }
}

fn of_key(key: &KeyEvent) -> Option<Action> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('c') if control => Action::End,
        KeyCode::Char('z') if control => Action::Suspend,
        KeyCode::Char('l') if control => Action::Redraw,
        KeyCode::Char(_) if control => return None,
        KeyCode::Char('q') => Action::End,
        KeyCode::Char('p' | ' ') => Action::Pause,
        KeyCode::Char('s') => Action::Sort,
        KeyCode::Up | KeyCode::Char('k') => Action::Back(1),
        KeyCode::Down | KeyCode::Char('j') => Action::Forth(1),
        KeyCode::PageUp => Action::Back(PAGE),
        KeyCode::PageDown => Action::Forth(PAGE),
        KeyCode::End | KeyCode::Esc => Action::Latest,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: KeyCode, modifiers: KeyModifiers, expected: Option<Action>) {
        let event = Event::Key(KeyEvent::new(code, modifiers));
        assert_eq!(action(&event), expected, "{event:?}");
    }

    #[test]
    fn control_keys_and_plain_keys_do_not_mix() {
        let (plain, control) = (KeyModifiers::NONE, KeyModifiers::CONTROL);
        check(KeyCode::Char('q'), plain, Some(Action::End));
        check(KeyCode::Char('c'), control, Some(Action::End));
        check(KeyCode::Char('c'), plain, None);
        check(KeyCode::Char('q'), control, None);
        check(KeyCode::Char('p'), plain, Some(Action::Pause));
        check(KeyCode::Char('z'), control, Some(Action::Suspend));
        check(KeyCode::Char('z'), plain, None);
        check(KeyCode::Up, plain, Some(Action::Back(1)));
    }

    #[test]
    fn a_resize_asks_for_a_new_picture() {
        assert_eq!(action(&Event::Resize(80, 24)), Some(Action::Redraw));
        assert_eq!(action(&Event::FocusLost), None);
    }
}
