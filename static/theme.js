// Loaded before the page is painted: a chosen theme must not flash.
(function () {
  'use strict'
  try {
    var theme = localStorage.getItem('theme')
    if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme
  } catch {
    // No storage: the system's preference holds.
  }
})()
