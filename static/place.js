// What happens when a block of the page is replaced by a newer one: the reader's place stays (open details, scrolled
// boxes, focus, selected text), and values that changed are marked for a moment.
(function () {
  'use strict'

  var MARKED = 2000 // ms
  var MOST_VALUES = 1500 // of one block; nobody sees more change at once
  var MOST_MARKED = 12 // more than this at once is a new picture, not a change
  var VALUES = 'td, dd, .chip, .sentence, .reason, .who'
  var BOXES = '.scroll, pre, .grid, .pipeline, .names'

  // --- where something is, for one that stands in the same place later -----------------------------------------------

  // Rows and the like come, go and change places: one is found again by what it stands for, not by where it stood.
  var keys = new WeakMap() // an element that is replaced comes with a new one

  function keyOf(row) {
    var key = keys.get(row)
    if (key !== undefined) return key
    key = row.dataset.key
    if (!key) {
      var link = row.tagName !== 'DIV' && (row.querySelector('th a[href]') || row.querySelector('a[href]'))
      key = link ? link.getAttribute('href') : textOf(row.querySelector('th, dt') || row)
    }
    keys.set(row, key)
    return key
  }

  function isRow(node) {
    if (node.nodeType !== 1) return false
    if (node.dataset.key || node.tagName === 'TR' || node.tagName === 'LI') return true
    return node.tagName === 'DIV' && node.parentNode.tagName === 'DL'
  }

  function sameRows(row) {
    return Array.prototype.filter.call(row.parentNode.children, function (other) {
      return other.tagName === row.tagName && keyOf(other) === keyOf(row)
    })
  }

  // One step of a way: the number of a child, or a row as its tag, its key and which of those that share the key.
  function stepTo(node) {
    if (!isRow(node)) return Array.prototype.indexOf.call(node.parentNode.childNodes, node)
    return [node.tagName, keyOf(node), sameRows(node).indexOf(node)].join('\n')
  }

  function childAt(parent, step) {
    if (typeof step === 'number') return parent.childNodes[step]
    return Array.prototype.find.call(parent.children || [], function (child) { return isRow(child) && stepTo(child) === step })
  }

  // The nearest element with an id, and the way down from there: [id, 3, 'TR\n/ns/ml/pods/train\n0', 1].
  function pathOf(node, block) {
    var path = []
    for (var n = node; n && n !== block; n = n.parentNode) {
      if (n.id) return [n.id].concat(path)
      path.unshift(stepTo(n))
    }
    return [''].concat(path)
  }

  function nodeAt(path, block) {
    var node = path[0] ? document.getElementById(path[0]) : block
    if (!node || !(node === block || block.contains(node))) return null
    for (var i = 1; node && i < path.length; i++) node = childAt(node, path[i])
    return node || null
  }

  // --- what is being read --------------------------------------------------------------------------------------------

  var pageWasScrolled = false
  document.addEventListener('scroll', function (event) { if (event.target === document) pageWasScrolled = true }, true)

  function rowOf(node, block) {
    var element = node && (node.nodeType === 1 ? node : node.parentElement)
    var row = element && element.closest('tr, li')
    return row && block.contains(row) && row !== block ? row : null
  }

  function screenTop() {
    var top = document.querySelector('.top')
    return Math.max(0, top ? top.getBoundingClientRect().bottom : 0)
  }

  function headOf(row) {
    return row.parentNode.tagName === 'TBODY' ? row.closest('table') : row.parentNode
  }

  function isOnScreen(box) { return box.bottom > screenTop() && box.top < innerHeight }

  // The rows on screen, of a list whose first row is above it: where the head of a list is in sight, what is new comes
  // into sight there, and the head is what stays.
  function onScreen(block) {
    var from = screenTop()
    var seen = Array.from(block.querySelectorAll('tbody > tr, li')).filter(function (row) {
      return isOnScreen(row.getBoundingClientRect())
    })
    var below = seen.filter(function (row) {
      return row.parentNode.firstElementChild.getBoundingClientRect().top < from - 1
    })
    var whole = below.filter(function (row) {
      var box = row.getBoundingClientRect()
      return box.top >= from && box.bottom <= innerHeight
    })
    if (below.length) return whole.concat(below)
    return seen.length ? [headOf(seen[0])] : []
  }

  // What must not slide away, with where it is: the row with the focus or the selected text where that is in sight, else
  // what is on screen of a page that was scrolled down. Nobody asks where rows are while the page stands at its top.
  function readIn(block) {
    var selection = selectedText()
    var rows = [
      rowOf(focusedElement(), block),
      selection ? rowOf(selection.anchorNode, block) : null
    ].filter(function (row) { return row && isOnScreen(row.getBoundingClientRect()) })
    if (!rows.length && pageWasScrolled && scrollY > 0) rows = onScreen(block)
    return rows.map(function (row) { return [pathOf(row, block), row.getBoundingClientRect().top, row.tagName] })
  }

  function keepRead(block, read) {
    var at = null
    var was = read.find(function (one) {
      at = nodeAt(one[0], block)
      return at && at.tagName === one[2]
    })
    if (!was) return
    var moved = at.getBoundingClientRect().top - was[1]
    if (Math.abs(moved) >= 1) scrollBy({ top: moved, behavior: 'instant' })
  }

  // --- the reader's place --------------------------------------------------------------------------------------------

  // Asking every box how far it is scrolled would lay the page out anew at each swap: they say it themselves.
  var wasScrolled = new WeakSet()
  document.addEventListener('scroll', function (event) {
    if (event.target.nodeType === 1) wasScrolled.add(event.target)
  }, true)

  function placeIn(block) {
    var place = { open: [], scrolled: [], focus: null, selected: selectionIn(block), values: valuesIn(block), read: readIn(block) }
    block.querySelectorAll('details').forEach(function (d) { place.open.push([pathOf(d, block), d.open]) })
    block.querySelectorAll(BOXES).forEach(function (box) {
      if (wasScrolled.has(box)) place.scrolled.push([pathOf(box, block), box.scrollLeft, box.scrollTop])
    })
    var active = focusedElement()
    if (active && block.contains(active)) {
      place.focus = { element: active, block: block, path: pathOf(active, block), names: namesOf(active) }
    }
    return place
  }

  function restore(block, place) {
    place.open.forEach(function (was) {
      var details = nodeAt(was[0], block)
      if (details && details.tagName === 'DETAILS' && details.open !== was[1]) details.open = was[1]
    })
    place.scrolled.forEach(function (was) {
      var box = nodeAt(was[0], block)
      if (!box || box.nodeType !== 1) return
      box.scrollLeft = was[1]
      box.scrollTop = was[2]
    })
    focusAgain(block, place.focus)
    select(block, place.selected)
    keepRead(block, place.read)
    mark(block, place.values)
  }

  // What an element is to its reader: where it leads, what it copies, what it says.
  function namesOf(element) {
    return [element.getAttribute('href'), element.dataset.copy, element.name, textOf(element)]
  }

  // Nothing that Enter opens rather than another object: j, k and Tab go on from the row that stands there now.
  function focusAgain(block, was) {
    if (!was) return
    var focus = nodeAt(was.path, block)
    if (focus && focus.tagName === was.element.tagName && isStill(focus, was)) focus.focus({ preventScroll: true })
    else standAt(wherePlaced(block, was))
  }

  function isStill(focus, was) {
    if (focus.tagName === 'SUMMARY') return true
    if (was.element.hasAttribute('data-stand')) return false
    return namesOf(focus).some(function (n, i) { return n && n === was.names[i] })
  }

  // The row that the focus was in, else the next one below it that is still there, else the next above.
  function wherePlaced(block, was) {
    var near = null
    function from(row, way) {
      for (; row && !near; row = row[way]) near = nodeAt(pathOf(row, was.block), block)
    }
    for (var row = rowOf(was.element, was.block); row && !near; row = rowOf(row.parentNode, was.block)) {
      from(row, 'nextElementSibling')
      from(row, 'previousElementSibling')
    }
    return near || block
  }

  // The focus is on a thing that does nothing.
  function standAt(element) {
    element.tabIndex = -1
    element.dataset.stand = ''
    element.focus({ preventScroll: true })
  }

  document.addEventListener('dradash:stand', function (event) { standAt(event.target) })
  document.addEventListener('focusout', function (event) {
    // A window that is left keeps its focus.
    if (!event.target.hasAttribute('data-stand') || document.activeElement === event.target) return
    event.target.removeAttribute('tabindex')
    event.target.removeAttribute('data-stand')
  })

  // --- selected text -------------------------------------------------------------------------------------------------

  function endOf(node, offset, block) {
    var inside = node && block.contains(node)
    return { node: node, offset: offset, path: inside ? pathOf(node, block) : null }
  }

  function selectionIn(block) {
    var selection = selectedText()
    if (!selection) return null
    var ends = [
      endOf(selection.anchorNode, selection.anchorOffset, block),
      endOf(selection.focusNode, selection.focusOffset, block)
    ]
    return ends[0].path || ends[1].path ? { ends: ends, text: selection.toString() } : null
  }

  function select(block, selected) {
    if (!selected) return
    var ends = selected.ends.map(function (end) {
      var node = end.path ? nodeAt(end.path, block) : end.node
      var length = node ? (node.nodeType === 3 ? node.length : node.childNodes.length) : -1
      return node && node.isConnected && end.offset <= length ? [node, end.offset] : null
    })
    if (ends[0] && ends[1]) getSelection().setBaseAndExtent(ends[0][0], ends[0][1], ends[1][0], ends[1][1])
  }

  // --- changed values ------------------------------------------------------------------------------------------------

  // Ages grow all the time: they are no change.
  function textOf(element) {
    var text = element.textContent
    element.querySelectorAll('time').forEach(function (time) { text = text.replace(time.textContent, '') })
    return text.trim()
  }

  function valuesIn(block) {
    var values = new Map()
    var elements = block.querySelectorAll(VALUES)
    if (elements.length > MOST_VALUES) return values
    elements.forEach(function (element) { values.set(pathOf(element, block).join(' '), textOf(element)) })
    return values
  }

  function mark(block, values) {
    var changed = []
    if (!values.size) return
    block.querySelectorAll(VALUES).forEach(function (element) {
      var before = values.get(pathOf(element, block).join(' '))
      if (before !== undefined && before !== textOf(element)) changed.push(element)
    })
    // The innermost alone: a cell whose chip changed need not be marked twice.
    changed = changed.filter(function (e) { return !changed.some(function (o) { return o !== e && e.contains(o) }) })
    if (changed.length > MOST_MARKED) return
    changed.forEach(function (element) {
      element.classList.add('changed')
      setTimeout(function () { element.classList.remove('changed') }, MARKED)
    })
  }

  var WIRED = '[hx-get], [hx-post], [hx-trigger], [hx-ext], [ws-connect]'
  var done = new WeakSet() // blocks whose old content nobody needs once the newer one stands

  // --- htmx ----------------------------------------------------------------------------------------------------------

  document.addEventListener('htmx:oobBeforeSwap', function (event) {
    var target = event.detail.target
    var active = focusedElement()
    if (!event.detail.shouldSwap) return // the list is held (hold.js)
    // A form in use is left alone: only its counts would be newer.
    if (active && target.contains(active) && active.closest('form.filters')) {
      event.detail.shouldSwap = false
      return
    }
    event.detail.place = placeIn(target)
    if (!event.detail.place.focus && !target.querySelector(WIRED)) done.add(target)
    else done.delete(target)
    var grid = target.querySelector('.lazy-grid')
    var next = event.detail.fragment.querySelector ? event.detail.fragment.querySelector('.lazy-grid') : null
    // The old grid stays to be seen until the new one has come.
    if (grid && next && grid.querySelector('.grid')) next.replaceChildren.apply(next, Array.from(grid.childNodes))
  })

  // The newer block stands beside it by now. htmx would tell each element of the old one that it goes: 100 ms for a list
  // of a hundred rows, and nothing in it is htmx's. Where the focus was, the old rows say what stands there now.
  document.addEventListener('htmx:beforeCleanupElement', function (event) {
    if (done.has(event.target)) event.target.replaceChildren()
  })

  // htmx hands the same details to both events, once for every element that it swapped in.
  document.addEventListener('htmx:oobAfterSwap', function (event) {
    var place = event.detail.place
    var block = document.getElementById(event.detail.target.id)
    if (!place || !block) return
    delete event.detail.place
    restore(block, place)
  })
})()
