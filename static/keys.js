// The keyboard: search from everywhere, rows by j and k, pages by g and a letter, ? for the list. It only moves focus
// and follows links: whatever it does, a pointer and Tab do as well. No key is taken while somebody types.
(function () {
  'use strict'

  var PREFIX = 1500 // ms that a g waits for its letter
  var prefixed = 0

  function byId(id) { return document.getElementById(id) }

  function isTyping(element) {
    if (!element) return false
    // A slider and a box take no letters.
    if (/^(range|checkbox|radio|button|submit)$/i.test(element.type)) return false
    return /^(input|select|textarea)$/i.test(element.tagName) || element.isContentEditable
  }

  function openDialog(id) {
    var dialog = byId(id)
    if (!dialog || dialog.open) return
    document.querySelectorAll('dialog[open]').forEach(function (other) { other.close() })
    dialog.showModal()
    var input = dialog.querySelector('input[type=search]')
    if (!input) return
    input.focus()
    input.select()
    htmx.trigger(input, 'opened')
  }

  // The browser's own Escape first empties a search field that has text.
  function closeDialog() {
    var dialog = document.querySelector('dialog[open]')
    if (dialog) dialog.close()
    return Boolean(dialog)
  }

  // --- through results and rows --------------------------------------------------------------------------------------

  // From the focus on; where that is nowhere in particular, from the first or the last one.
  function move(list, step) {
    var active = document.activeElement
    var next = list[list.indexOf(active) + step]
    if (list.indexOf(active) === -1) {
      var after = list.filter(function (link) { return active.compareDocumentPosition(link) & Node.DOCUMENT_POSITION_FOLLOWING })
      var before = list.slice(0, list.length - after.length)
      next = step > 0 ? after[0] || list[0] : before[before.length - 1] || list[list.length - 1]
    }
    if (next) next.focus()
    return Boolean(next)
  }

  function linksOfRows() {
    var links = []
    document.querySelectorAll('main table.rows tbody tr, main .row, main .compared > li').forEach(function (row) {
      var link = row.querySelector('th a[href]') || row.querySelector('a[href]')
      if (link && link.offsetParent !== null) links.push(link)
    })
    return links.length ? links : Array.from(document.querySelectorAll('main a.hit'))
  }

  // Arrow keys in a search: from its field into the results and back.
  function arrow(event) {
    var scope = event.target.closest('dialog') || event.target.closest('main')
    var field = scope && scope.querySelector('.search-form input[type=search]')
    if (!field || !event.target.matches('.search-form input[type=search], a.hit')) return false
    var hits = Array.from(scope.querySelectorAll('a.hit'))
    return move([field].concat(hits), event.key === 'ArrowDown' ? 1 : -1)
  }

  // Enter in the dialog's field opens the best result of what stands there: at once, or when it comes. Where nothing is
  // found, or cannot be asked, the search page tells.
  var wanted = null

  function enter(event) {
    var field = event.target
    if (field.id !== 'search-text') return false
    wanted = field.value
    if (!openWanted()) htmx.trigger(field, 'opened')
    return true
  }

  function openWanted() {
    var results = byId('search-results')
    if (wanted === null || results.dataset.of !== wanted) return false
    var first = results.querySelector('a.hit')
    if (!first) return submitWanted()
    wanted = null
    first.click()
    return true
  }

  function submitWanted() {
    if (wanted === null) return false
    wanted = null
    byId('search-text').form.submit()
    return true
  }

  var stood = null // where the hit leads that has the focus, while newer results come

  function isOfSearch(event) { return event.detail.target && event.detail.target.id === 'search-results' }

  document.addEventListener('htmx:beforeSwap', function (event) {
    if (!isOfSearch(event) || !event.detail.shouldSwap) return
    var sent = event.detail.requestConfig.parameters
    event.detail.target.dataset.of = (sent.get ? sent.get('q') : sent.q) || ''
    stood = event.detail.target.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null
  })
  document.addEventListener('htmx:afterSwap', function (event) {
    if (!isOfSearch(event) || openWanted() || stood === null) return
    var same = event.detail.target.querySelector('a.hit[href="' + CSS.escape(stood) + '"]')
    ;(same || byId('search-text')).focus()
  })
  ;['htmx:responseError', 'htmx:sendError', 'htmx:timeout'].forEach(function (failure) {
    document.addEventListener(failure, function (event) { if (isOfSearch(event)) submitWanted() })
  })
  // Who types on has not finished.
  document.addEventListener('input', function (event) { if (event.target.id === 'search-text') wanted = null })

  // --- keys ----------------------------------------------------------------------------------------------------------

  function go(key) {
    var link = document.querySelector('a[data-go="' + CSS.escape(key) + '"]')
    if (link) link.click()
    return Boolean(link)
  }

  var KEYS = {
    '/': function () { openDialog('search-dialog'); return true },
    '?': function () { openDialog('keys-dialog'); return true },
    j: function () { return move(linksOfRows(), 1) },
    k: function () { return move(linksOfRows(), -1) },
    f: function () {
      var field = byId('q')
      if (field) { field.focus(); field.select() }
      return Boolean(field)
    },
    x: function () { document.dispatchEvent(new Event('dradash:exact')); return true },
    g: function () { prefixed = Date.now(); return true }
  }

  function handle(event) {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') {
      openDialog('search-dialog')
      return true
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return false
    if (event.key === 'Escape' && closeDialog()) return true
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') return arrow(event)
    if (event.key === 'Enter') return enter(event)
    if (isTyping(document.activeElement)) {
      if (event.key === 'Escape') event.target.blur()
      return false
    }
    if (document.querySelector('dialog[open]')) return typeOn(event)
    if (prefixed && Date.now() - prefixed < PREFIX) {
      prefixed = 0
      return go(event.key)
    }
    prefixed = 0
    var act = Object.prototype.hasOwnProperty.call(KEYS, event.key) ? KEYS[event.key] : null
    return act ? act() : false
  }

  // A letter typed on a result goes on in the field.
  function typeOn(event) {
    var field = event.key.length === 1 && event.target.matches('a.hit') && byId('search-text')
    if (field) field.focus()
    return false
  }

  document.addEventListener('keydown', function (event) {
    if (event.isComposing || event.defaultPrevented) return
    if (handle(event)) event.preventDefault()
  })

  // The close of a dialog does not bubble.
  document.addEventListener('close', function (event) { if (event.target.id === 'search-dialog') wanted = null }, true)

  // --- pointers ------------------------------------------------------------------------------------------------------

  document.addEventListener('click', function (event) {
    var target = event.target
    if (!target.closest) return
    if (target.closest('#search-open') && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault()
      openDialog('search-dialog')
    } else if (target.closest('[data-close]') || (target.tagName === 'DIALOG' && isOutside(target, event))) {
      target.closest('dialog').close()
    }
  })

  function isOutside(dialog, event) {
    var box = dialog.getBoundingClientRect()
    return event.clientX < box.left || event.clientX > box.right || event.clientY < box.top || event.clientY > box.bottom
  }
})()
