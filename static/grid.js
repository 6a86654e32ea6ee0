// The grid of nodes: one tab stop, arrow keys from cell to cell, what the cell says in words, reasons that hide at once.
// Without it the cells are links, and the reasons are hidden by the form.
(function () {
  'use strict'

  var current = null // the cell that Tab comes to

  function grids() { return document.querySelectorAll('.node-grid, .grid') }

  function cellOf(element) {
    return element.closest ? element.closest('.cells > a') : null
  }

  function gridOf(cell) { return cell.closest('.node-grid, .grid') }

  // --- one tab stop --------------------------------------------------------------------------------------------------

  function settle() {
    grids().forEach(function (grid) {
      if (grid.dataset.settled && grid.querySelector('.cells > a[tabindex="0"]') &&
          !grid.querySelector('.cells > a:not([tabindex])')) return
      grid.dataset.settled = '1'
      var cells = grid.querySelectorAll('.cells > a:not([tabindex])')
      for (var i = 0; i < cells.length; i++) cells[i].tabIndex = -1
      var stop = grid.querySelector('.cells > a[tabindex="0"]') || grid.querySelector('.cells > a')
      if (stop) stop.tabIndex = 0
    })
  }

  function stopAt(cell) {
    var grid = gridOf(cell)
    if (current && current !== cell && current.isConnected) current.tabIndex = -1
    var first = grid.querySelector('.cells > a[tabindex="0"]')
    if (first && first !== cell) first.tabIndex = -1
    cell.tabIndex = 0
    current = cell
  }

  // --- moving --------------------------------------------------------------------------------------------------------

  function isHidden(cell) { return gridOf(cell).classList.contains('hide-' + cell.className) }

  function sibling(cell, back) {
    var next = back ? cell.previousElementSibling : cell.nextElementSibling
    var cells = cell.parentElement
    var all = null
    while (true) {
      while (next && isHidden(next)) next = back ? next.previousElementSibling : next.nextElementSibling
      if (next) return next
      all = all || Array.prototype.slice.call(gridOf(cell).querySelectorAll('.cells'))
      cells = all[all.indexOf(cells) + (back ? -1 : 1)]
      if (!cells) return null
      next = back ? cells.lastElementChild : cells.firstElementChild
    }
  }

  // The nearest cell above or below: the first one in another line that is not before this one's place.
  function line(cell, back) {
    var from = cell.getBoundingClientRect()
    var found = null
    var place = null
    for (var next = sibling(cell, back); next; next = sibling(next, back)) {
      var box = next.getBoundingClientRect()
      var sameLine = Math.abs(box.top - (place ? place.top : from.top)) < 2
      if (!place) {
        if (sameLine) continue
        place = box
      } else if (!sameLine) break
      found = next
      if (back ? box.left <= from.left + 1 : box.left >= from.left - 1) break
    }
    return found
  }

  function end(cell, first) {
    var cells = gridOf(cell).querySelectorAll('.cells > a')
    var i = first ? 0 : cells.length - 1
    while (cells[i] && isHidden(cells[i])) i += first ? 1 : -1
    return cells[i]
  }

  document.addEventListener('keydown', function (event) {
    var cell = cellOf(event.target)
    if (!cell || event.altKey || event.ctrlKey || event.metaKey) return
    var to
    if (event.key === 'ArrowRight') to = sibling(cell, false)
    else if (event.key === 'ArrowLeft') to = sibling(cell, true)
    else if (event.key === 'ArrowDown') to = line(cell, false)
    else if (event.key === 'ArrowUp') to = line(cell, true)
    else if (event.key === 'Home') to = end(cell, true)
    else if (event.key === 'End') to = end(cell, false)
    else return
    event.preventDefault()
    if (to) to.focus()
  })

  // --- what a cell says ----------------------------------------------------------------------------------------------

  function say(cell) {
    var grid = gridOf(cell)
    // Not the parent: a grid that came on its own stands in an element more than one that came with the page.
    var words = document.getElementById('cell-says') || grid.closest('section').querySelector('.cell-says')
    if (!words) return
    var why = document.querySelector('[data-kind="' + cell.className + '"] .why')
    var mark = document.querySelector('[data-kind="' + cell.className + '"] .mark')
    var group = cell.closest('.cell-group')
    var label = group ? group.getAttribute('aria-label').replace(/: [^:]*$/, '') : ''
    words.hidden = false
    words.textContent = ''
    var name = document.createElement('b')
    name.textContent = cell.textContent
    words.append(name, ' ', label ? label + ' · ' : '', mark ? mark.dataset.mark + ' ' : '', why ? why.textContent : '')
  }

  document.addEventListener('mouseover', function (event) {
    var cell = cellOf(event.target)
    if (cell) say(cell)
  })
  document.addEventListener('focusin', function (event) {
    var cell = cellOf(event.target)
    if (!cell) return
    stopAt(cell)
    say(cell)
  })

  // --- reasons -------------------------------------------------------------------------------------------------------

  function address() {
    var params = new URLSearchParams(location.search)
    params.delete('hide')
    document.querySelectorAll('#grid-form [data-hides]:checked').forEach(function (box) {
      params.append('hide', box.value)
    })
    return location.pathname + (params.size ? '?' + params : '') + location.hash
  }

  function hide() {
    var grid = document.getElementById('node-grid')
    document.querySelectorAll('#grid-form [data-hides]').forEach(function (box) {
      grid.classList.toggle('hide-' + box.dataset.hides, box.checked)
    })
  }

  document.addEventListener('change', function (event) {
    var form = event.target.closest ? event.target.closest('#grid-form') : null
    if (!form) return
    if (event.target.name === 'group') {
      form.requestSubmit()
      return
    }
    hide()
    history.replaceState(history.state, '', address())
  })

  // A new head comes with the boxes of the address that the page was loaded with.
  function recheck() {
    var wanted = new URLSearchParams(location.search).getAll('hide').join('.').split('.')
    document.querySelectorAll('#grid-form [data-hides]').forEach(function (box) {
      box.checked = wanted.indexOf(box.value) !== -1
    })
    if (!document.getElementById('node-grid')) return
    // From here on the grid says what is hidden, not its groups.
    document.querySelectorAll('.cell-group[class*="hide-"]').forEach(function (group) {
      group.className = group.className.replace(/ hide-k\d+/g, '')
    })
    hide()
  }

  document.addEventListener('click', function (event) {
    var button = event.target.closest ? event.target.closest('[data-copy-of]') : null
    // Before the handler that copies: thousands of names are not in the page twice.
    if (button) button.dataset.copy = document.getElementById(button.dataset.copyOf).textContent
  }, true)

  document.addEventListener('htmx:oobAfterSwap', function () {
    recheck()
    settle()
  })
  document.addEventListener('htmx:afterSettle', settle)
  recheck()
  settle()
})()
