// What happens when a block of the page is replaced by a newer one: the reader's place stays (open details, scrolled
// boxes, focus, selected text), values that changed are marked for a moment, and a changed verdict is announced.
(function () {
  'use strict'

  var MARKED = 2000 // ms
  var MOST_VALUES = 1500 // of one block; nobody sees more change at once
  var MOST_MARKED = 12 // more than this at once is a new picture, not a change
  var VALUES = 'td, dd, .chip, .sentence, .reason, .who'
  var BOXES = '.scroll, pre, .grid, .pipeline, .names'

  // --- where something is, for one that stands in the same place later -----------------------------------------------

  // The nearest element with an id, and the way down from there: [id, 3, 0, 1].
  function pathOf(node, block) {
    var path = []
    for (var n = node; n && n !== block; n = n.parentNode) {
      if (n.id && n !== node) return [n.id].concat(path)
      if (n.id && n.nodeType === 1) return [n.id]
      path.unshift(Array.prototype.indexOf.call(n.parentNode.childNodes, n))
    }
    return [''].concat(path)
  }

  function nodeAt(path, block) {
    var node = path[0] ? document.getElementById(path[0]) : block
    if (!node || !(node === block || block.contains(node))) return null
    for (var i = 1; node && i < path.length; i++) node = node.childNodes[path[i]]
    return node || null
  }

  // --- the reader's place --------------------------------------------------------------------------------------------

  // Asking every box how far it is scrolled would lay the page out anew at each swap: they say it themselves.
  var wasScrolled = new WeakSet()
  document.addEventListener('scroll', function (event) {
    if (event.target.nodeType === 1) wasScrolled.add(event.target)
  }, true)

  function placeIn(block) {
    var place = { open: [], scrolled: [], focus: null, selected: selectionIn(block), values: valuesIn(block) }
    block.querySelectorAll('details').forEach(function (d) { place.open.push([pathOf(d, block), d.open]) })
    block.querySelectorAll(BOXES).forEach(function (box) {
      if (wasScrolled.has(box)) place.scrolled.push([pathOf(box, block), box.scrollLeft, box.scrollTop])
    })
    var active = document.activeElement
    if (active && active !== block && block.contains(active)) place.focus = [pathOf(active, block), active.tagName]
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
    var focus = place.focus && nodeAt(place.focus[0], block)
    if (focus && focus.tagName === place.focus[1]) focus.focus({ preventScroll: true })
    select(block, place.selected)
    mark(block, place.values)
  }

  // --- selected text -------------------------------------------------------------------------------------------------

  function endOf(node, offset, block) {
    var inside = node && block.contains(node)
    return { node: node, offset: offset, path: inside ? pathOf(node, block) : null }
  }

  function selectionIn(block) {
    var selection = getSelection()
    if (!selection || selection.isCollapsed || !selection.rangeCount) return null
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

  // --- announcing ----------------------------------------------------------------------------------------------------

  var said = wordsNow()

  function wordsNow() {
    var element = document.querySelector('[data-announce]')
    return element ? element.dataset.announce : ''
  }

  function announce() {
    var words = wordsNow()
    var region = document.getElementById('announce')
    if (!region || !words || words === said) return
    said = words
    region.textContent = words
  }

  // --- htmx ----------------------------------------------------------------------------------------------------------

  document.addEventListener('htmx:oobBeforeSwap', function (event) {
    var target = event.detail.target
    var active = document.activeElement
    // A form in use is left alone: only its counts would be newer.
    if (target.contains(active) && active.closest('form.filters')) {
      event.detail.shouldSwap = false
      return
    }
    event.detail.place = placeIn(target)
    var grid = target.querySelector('.lazy-grid')
    var next = event.detail.fragment.querySelector ? event.detail.fragment.querySelector('.lazy-grid') : null
    // The old grid stays to be seen until the new one has come.
    if (grid && next && grid.querySelector('.grid')) next.replaceChildren.apply(next, Array.from(grid.childNodes))
  })

  // htmx hands the same details to both events, once for every element that it swapped in.
  document.addEventListener('htmx:oobAfterSwap', function (event) {
    var place = event.detail.place
    var block = document.getElementById(event.detail.target.id)
    if (!place || !block) return
    delete event.detail.place
    restore(block, place)
  })

  document.addEventListener('htmx:wsAfterMessage', announce)
})()
