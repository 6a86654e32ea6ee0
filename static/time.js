// The slider through an object's history. Without it the same moments are links. Arrows go from change to change, Home
// to the earliest time that is kept, End to now; what is chosen is looked at after a moment's rest, or with Enter.
(function () {
  'use strict'

  var REST = 700 // ms after the last key before the page goes there
  var CLOSE = 0.008 // of the slider's length: that near to a change, the change is meant
  var FOCUS = 'time-slider' // in sessionStorage: the slider had the focus on the page before
  var waiting = 0

  function exact(ms) { return new Date(ms).toISOString().replace('.000Z', 'Z') }

  function read(input) {
    var box = input.parentElement
    return {
      input: input,
      start: Number(box.dataset.start),
      // The present goes on while the page is open.
      end: Math.max(Number(box.dataset.end), Date.now() / 1000),
      address: box.dataset.address,
      live: !box.dataset.live,
      marks: (input.dataset.marks || '').trim().split(/\s+/).filter(Boolean).map(Number)
    }
  }

  function say(slider) {
    var at = Number(slider.input.value)
    var now = at >= slider.end - 1
    var text = now ? 'now' : exact(Math.floor(at) * 1000).replace('T', ' ').replace('Z', ' UTC')
    slider.input.parentElement.querySelector('output').textContent = text
    slider.input.setAttribute('aria-valuetext', text)
  }

  function go(slider) {
    var at = Number(slider.input.value)
    clearTimeout(waiting)
    try {
      sessionStorage.setItem(FOCUS, '1')
    } catch {
      // Without storage the focus begins at the top of the page.
    }
    if (at >= slider.end - 1) {
      location.href = location.pathname + (slider.address.length > 1 ? slider.address : '')
      return
    }
    // A change is over at its end: milliseconds are rounded up, as in the links.
    var named = at === slider.start || slider.marks.indexOf(at) !== -1
    var moment = exact(named ? Math.ceil(at * 1000) : Math.ceil(at) * 1000)
    location.search = slider.address + (slider.address.length > 1 ? '&' : '') + 'at=' + moment
  }

  function snap(slider) {
    var at = Number(slider.input.value)
    var near = slider.marks.reduce(function (best, mark) {
      return Math.abs(mark - at) < Math.abs(best - at) ? mark : best
    }, Infinity)
    if (Math.abs(near - at) < CLOSE * (slider.end - slider.start)) slider.input.value = near
  }

  function step(slider, key) {
    var at = Number(slider.input.value)
    var stops = [slider.start].concat(slider.marks, [slider.end])
    if (!slider.marks.length) {
      stops = [at - 60, at, at + 60]
    }
    if (key === 'Home') return slider.start
    if (key === 'End') return slider.end
    if (key === 'ArrowLeft' || key === 'ArrowDown') {
      return stops.filter(function (s) { return s < at - 0.0005 }).pop()
    }
    if (key === 'ArrowRight' || key === 'ArrowUp') {
      return stops.filter(function (s) { return s > at + 0.0015 })[0]
    }
    return undefined
  }

  function ofEvent(event) {
    return event.target.id === 'time-slider' ? read(event.target) : null
  }

  document.addEventListener('input', function (event) {
    var slider = ofEvent(event)
    if (slider) say(slider)
  })
  document.addEventListener('change', function (event) {
    var slider = ofEvent(event)
    if (!slider) return
    snap(slider)
    go(slider)
  })
  document.addEventListener('keydown', function (event) {
    var slider = ofEvent(event)
    if (!slider || event.altKey || event.ctrlKey || event.metaKey) return
    if (event.key === 'Enter') {
      go(slider)
      return
    }
    var value = step(slider, event.key)
    if (value === undefined && !/^(Arrow|Home|End)/.test(event.key)) return
    event.preventDefault()
    if (value === undefined) return
    slider.input.max = slider.end
    slider.input.value = value
    say(slider)
    clearTimeout(waiting)
    waiting = setTimeout(function () { go(read(document.getElementById('time-slider'))) }, REST)
  })

  // From everywhere on the page: [ is the change before, ] the next one.
  document.addEventListener('keydown', function (event) {
    if (event.altKey || event.ctrlKey || event.metaKey || (event.key !== '[' && event.key !== ']')) return
    if (/^(input|select|textarea)$/i.test(event.target.tagName) && event.target.type !== 'range') return
    if (document.querySelector('dialog[open]')) return
    var link = document.querySelector('.timeline a[rel=' + (event.key === '[' ? 'prev' : 'next') + ']')
    if (link) link.click()
  })

  function show() {
    var input = document.getElementById('time-slider')
    if (!input || !input.hidden) return
    input.hidden = false
    var slider = read(input)
    if (slider.live) {
      input.max = slider.end
      input.value = slider.end
    }
    say(slider)
    try {
      if (sessionStorage.getItem(FOCUS)) input.focus({ preventScroll: true })
      sessionStorage.removeItem(FOCUS)
    } catch {
      // As above.
    }
  }

  document.addEventListener('htmx:oobAfterSwap', show)
  show()
})()
