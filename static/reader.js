// Where the reader is, for scripts that ask at every block that comes: document.activeElement and a selection's ends would
// style and lay out all that was swapped in before, 20 ms a block on a large page.
(function () {
  'use strict'

  var focused = null
  var isSelecting = false

  document.addEventListener('focusin', function (event) { focused = event.target })
  document.addEventListener('focusout', function (event) {
    // A window that is left keeps its focus.
    if (document.activeElement !== event.target) focused = null
  })

  // Once a message, before its blocks are swapped in: selectionchange comes only some time after the selection.
  function look() {
    var selection = getSelection()
    isSelecting = Boolean(selection && !selection.isCollapsed)
  }

  document.addEventListener('selectionchange', look)
  document.addEventListener('htmx:wsBeforeMessage', look)

  // null: nothing but the page itself. What was taken from the page lost the focus without being told, and in a window
  // that is not in front whoever got it was not told either: only then the document is asked.
  window.focusedElement = function () {
    if (focused && !focused.isConnected) focused = document.activeElement
    return focused === document.body ? null : focused
  }

  // The selection, where it holds text; else null.
  window.selectedText = function () {
    var selection = isSelecting ? getSelection() : null
    return selection && selection.rangeCount && !selection.isCollapsed ? selection : null
  }
})()
