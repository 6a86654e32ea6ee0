// A list that shows only so many rows loses some to newer ones. While the focus or selected text is in a row that would
// be pushed off, the list stands still: what comes is kept, counted and shown once the reader has left the row.
(function () {
  'use strict'

  // block on the page -> next: the block that was sent last, last: the names of its rows, come: those that were held
  // back, over: there may be more of these
  var held = new Map()
  var HELD = 'The list is held while you read. Escape shows what is new.'

  // --- rows that stand for an object ---------------------------------------------------------------------------------

  function nameOf(row) {
    if (row.id || row.dataset.key) return row.id || row.dataset.key
    var link = row.matches('tr, li') && (row.querySelector('th a[href]') || row.querySelector('a[href]'))
    return link ? link.getAttribute('href') : ''
  }

  // A line in a cell is part of its row, a turn part of its round.
  function rowAround(node, block) {
    var element = node && (node.nodeType === 1 ? node : node.parentElement)
    var linked = null
    for (; element && element !== block; element = element.parentElement) {
      if (element.dataset.key || (element.matches('tr, li') && element.id)) return element
      if (!linked && element.matches('tr, li') && nameOf(element)) linked = element
    }
    return element ? linked : null
  }

  function namesIn(block, tag) {
    var names = new Set(Array.from(block.querySelectorAll(tag), nameOf))
    names.delete('')
    return names
  }

  function rowsRead(block) {
    var selection = selectedText()
    var nodes = [focusedElement()]
    if (selection) nodes.push(selection.anchorNode, selection.focusNode)
    return nodes.map(function (node) { return node && block.contains(node) ? rowAround(node, block) : null }).filter(Boolean)
  }

  function without(names, others) { return Array.from(names).filter(function (name) { return !others.has(name) }) }

  // The rows that push one off which is read: null where none does. A row whose object goes leaves a shorter list.
  function pushing(block, next) {
    var found = null
    rowsRead(block).some(function (row) {
      var now = namesIn(block, row.tagName)
      var then = namesIn(next, row.tagName)
      var come = without(then, now)
      if (!then.has(nameOf(row)) && come.length && then.size >= now.size) found = { come: come, now: now, then: then }
      return found
    })
    return found
  }

  // --- holding and going on ------------------------------------------------------------------------------------------

  function hold(block, next, pushed) {
    var was = held.get(block)
    var one = was || { come: new Set(), over: false, last: pushed.now }
    // Nothing of what was sent before is left: others may have come and gone in between.
    one.over = one.over || without(pushed.then, one.last).length === pushed.then.size
    one.last = pushed.then
    one.next = next
    pushed.come.forEach(function (name) { one.come.add(name) })
    held.set(block, one)
    say(block, one)
    var region = document.getElementById('announce')
    if (!was && region) region.textContent = HELD
  }

  function say(block, one) {
    var note = block.querySelector(':scope > .held')
    if (!note) {
      note = document.createElement('p')
      note.className = 'held'
      var button = document.createElement('button')
      button.type = 'button'
      button.className = 'button'
      button.textContent = 'Show'
      button.setAttribute('aria-keyshortcuts', 'Escape')
      note.append(document.createElement('span'), ' ', button)
      block.append(note)
    }
    var count = one.come.size
    note.firstChild.textContent = (one.over ? 'More than ' : '') + count + ' new row' + (count === 1 ? '' : 's') + ', held while you read'
  }

  // What was said stays to be read: it must not go on saying what is over. A verdict that was told since is left alone.
  function release(block) {
    var region = document.getElementById('announce')
    held.delete(block)
    if (!held.size && region && region.textContent === HELD) region.textContent = 'The list goes on.'
  }

  // As if it had come only now: place.js then keeps the reader's place.
  function goOn(block) {
    var next = held.get(block).next
    release(block)
    if (!block.isConnected) return
    next.setAttribute('hx-swap-oob', 'true')
    htmx.swap(document.body, next.outerHTML, { swapStyle: 'none' })
  }

  function show(block) {
    var id = block.id
    var hadFocus = block.contains(document.activeElement)
    var top = document.querySelector('.top')
    getSelection().removeAllRanges()
    if (hadFocus) document.activeElement.blur()
    goOn(block)
    var shown = document.getElementById(id)
    if (!shown) return
    // The row that was read may be gone, and the button is: from here j and Tab go to what is new.
    if (hadFocus) shown.dispatchEvent(new Event('dradash:stand', { bubbles: true }))
    if (shown.getBoundingClientRect().top < Math.max(0, top ? top.getBoundingClientRect().bottom : 0)) {
      shown.scrollIntoView({ block: 'start', behavior: 'instant' })
    }
  }

  // In its note, or in a dialog that gives the focus back to the row.
  function isAside(block) {
    var focused = focusedElement()
    var note = focused && focused.closest('.held')
    return Boolean(note && block.contains(note)) || Boolean(document.querySelector('dialog[open]'))
  }

  function look() {
    Array.from(held.keys()).forEach(function (block) {
      if (!block.isConnected) release(block)
      else if (!isAside(block) && !pushing(block, held.get(block).next)) goOn(block)
    })
  }

  // --- what comes ----------------------------------------------------------------------------------------------------

  document.addEventListener('htmx:oobBeforeSwap', function (event) {
    var block = event.detail.target
    var next = event.detail.fragment.firstElementChild
    if (!next || !block.classList.contains('block')) return
    var pushed = pushing(block, next)
    if (pushed || (held.has(block) && isAside(block))) {
      event.detail.shouldSwap = false
      if (pushed) hold(block, next.cloneNode(true), pushed)
      else held.get(block).next = next.cloneNode(true)
    } else if (held.has(block)) {
      release(block)
    }
  })

  // A row that is sent alone belongs to what was sent last, which may not be on the page yet.
  document.addEventListener('htmx:wsBeforeMessage', function (event) {
    if (!held.size || event.detail.message.slice(0, 3) !== '<tr') return
    var sent = document.createElement('template')
    sent.innerHTML = event.detail.message
    Array.from(sent.content.children).forEach(function (row) {
      held.forEach(function (one) {
        var kept = one.next.querySelector('#' + CSS.escape(row.id))
        if (!kept) return
        var newer = row.cloneNode(true)
        newer.removeAttribute('hx-swap-oob')
        kept.replaceWith(newer)
      })
      if (!document.getElementById(row.id)) row.remove()
    })
    event.preventDefault()
    if (sent.content.children.length) htmx.swap(document.body, sent.innerHTML, { swapStyle: 'none' })
  })

  // --- the reader goes on --------------------------------------------------------------------------------------------

  var waits = false

  function soon() {
    if (waits || !held.size) return
    waits = true
    setTimeout(function () {
      waits = false
      look()
    }, 0)
  }

  document.addEventListener('focusin', soon)
  document.addEventListener('focusout', soon)
  document.addEventListener('selectionchange', soon)

  document.addEventListener('click', function (event) {
    var note = event.target.closest ? event.target.closest('.held button') : null
    if (note) show(note.closest('.block'))
  })

  document.addEventListener('keydown', function (event) {
    if (event.key !== 'Escape' || !held.size || event.defaultPrevented || document.querySelector('dialog[open]')) return
    if (/^(input|select|textarea)$/i.test(document.activeElement.tagName)) return
    event.preventDefault()
    Array.from(held.keys()).forEach(show)
  })
})()
