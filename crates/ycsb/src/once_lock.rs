//! What [`std::sync::OnceLock`] promises threads, for models by loom, which has none: a value is set once, and who sees it
//! sees what its writer did before.

use std::sync::PoisonError;

use loom::sync::Mutex;
use loom::sync::atomic::{AtomicBool, Ordering};

/// A value that is set once.
#[derive(Debug)]
pub(crate) struct OnceLock<T> {
    is_set: AtomicBool,
    /// Held by who sets the value.
    setting: Mutex<()>,
    value: std::sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        Self { is_set: AtomicBool::new(false), setting: Mutex::new(()), value: std::sync::OnceLock::new() }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.is_set.load(Ordering::Acquire).then(|| self.value.get()).flatten()
    }

    /// Sets the value, or gives it back where there is one.
    #[allow(dead_code, reason = "not every crate with models uses it")]
    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        let _setting = self.setting.lock().unwrap_or_else(PoisonError::into_inner);
        self.value.set(value)?;
        self.is_set.store(true, Ordering::Release);
        Ok(())
    }

    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        let _setting = self.setting.lock().unwrap_or_else(PoisonError::into_inner);
        let value = self.value.get_or_init(make);
        self.is_set.store(true, Ordering::Release);
        value
    }
}
