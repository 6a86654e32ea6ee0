// Loaded before the page is painted: a chosen theme must not flash, and what only a script can do must not move the
// page when it appears.
(function () {
  'use strict'
  document.documentElement.classList.add('js')
  try {
    var theme = localStorage.getItem('theme')
    if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme
  } catch {
    // No storage: the system's preference holds.
  }
})()
