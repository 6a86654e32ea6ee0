// What HTML cannot do: say whether the page is live, count ages on, copy, remember the theme, and keep the reader's
// place (open details, scrolled boxes, focus) when a block is replaced. Everything works without it, only not live.
(function () {
  'use strict'

  // --- live or not ---------------------------------------------------------------------------------------------------

  var SILENCE = 30000 // ms: the server says something every 10 s, so after this the socket is dead
  var WORDS = { off: 'not live', connecting: 'connecting', live: 'live', lost: 'not live, reconnecting' }
  var socket = null
  var heard = 0

  function show(state) {
    var element = document.getElementById('live-state')
    if (!element || element.dataset.state === state) return
    element.dataset.state = state
    element.querySelector('[data-live-text]').textContent = WORDS[state]
    document.body.classList.toggle('not-live', state === 'lost')
  }

  // Full jitter, but never longer than ten seconds: somebody is looking at the page.
  htmx.config.wsReconnectDelay = function (retries) {
    return Math.min(10000, 500 * Math.pow(2, retries)) * (0.3 + 0.7 * Math.random())
  }

  // The address tells the server which blocks the page was loaded with. When the socket comes back, the page has moved
  // on since then: the server must send everything.
  var used = {}
  htmx.createWebSocket = function (url) {
    var again = used[url]
    used[url] = true
    return new WebSocket(again ? url.replace(/&_seen=[^&]*/, '') : url)
  }

  function reconnect() {
    if (socket && document.visibilityState === 'visible' && Date.now() - heard > SILENCE) {
      heard = Date.now()
      show('lost')
      socket.reconnect()
    }
  }

  document.addEventListener('htmx:wsConnecting', function () {
    var element = document.getElementById('live-state')
    if (element && element.dataset.state === 'off') show('connecting')
  })
  document.addEventListener('htmx:wsOpen', function (event) {
    socket = event.detail.socketWrapper
    heard = Date.now()
  })
  document.addEventListener('htmx:wsClose', function () { show('lost') })
  document.addEventListener('htmx:wsError', function () { show('lost') })
  document.addEventListener('htmx:wsBeforeMessage', function (event) {
    heard = Date.now()
    show('live')
    if (event.detail.message === 'reload') {
      event.preventDefault()
      location.reload()
    }
  })
  document.addEventListener('htmx:wsAfterMessage', decorate)
  window.addEventListener('online', reconnect)
  // Brought back from the browser's cache, a page has missed everything since.
  window.addEventListener('pageshow', function (event) { if (event.persisted) location.reload() })
  document.addEventListener('visibilitychange', reconnect)
  setInterval(reconnect, 5000)

  // --- ages ----------------------------------------------------------------------------------------------------------

  var UNITS = [[86400, 'd'], [3600, 'h'], [60, 'm'], [1, 's']]

  function ageText(seconds) {
    for (var i = 0; i < UNITS.length; i++) {
      var size = UNITS[i][0]
      if (seconds >= size) {
        var text = Math.floor(seconds / size) + UNITS[i][1]
        var next = UNITS[i + 1]
        var smaller = next ? Math.floor((seconds % size) / next[0]) : 0
        return smaller ? text + ' ' + smaller + next[1] : text
      }
    }
    return '0s'
  }

  function tick() {
    if (document.visibilityState !== 'visible') return
    var now = Date.now()
    document.querySelectorAll('time[data-age]').forEach(function (element) {
      var then = Date.parse(element.dateTime)
      if (isNaN(then)) return
      var text = ageText(Math.max(0, Math.floor((now - then) / 1000)))
      if (element.textContent !== text) element.textContent = text
    })
  }
  setInterval(tick, 1000)

  // --- the reader's place --------------------------------------------------------------------------------------------

  function placeIn(block) {
    var place = { open: {}, scrolled: [], focus: null }
    block.querySelectorAll('details[id]').forEach(function (d) { place.open[d.id] = d.open })
    block.querySelectorAll('.scroll, pre').forEach(function (box, i) {
      place.scrolled[i] = [box.scrollLeft, box.scrollTop]
    })
    var active = document.activeElement
    if (active && block.contains(active)) place.focus = active.id ? '#' + CSS.escape(active.id) : pathOf(active, block)
    return place
  }

  function pathOf(element, block) {
    var path = []
    for (var e = element; e && e !== block; e = e.parentElement) {
      path.unshift(':nth-child(' + (Array.prototype.indexOf.call(e.parentElement.children, e) + 1) + ')')
    }
    return ':scope > ' + path.join(' > ')
  }

  function restore(block, place) {
    Object.keys(place.open).forEach(function (id) {
      var details = block.querySelector('#' + CSS.escape(id))
      if (details) details.open = place.open[id]
    })
    block.querySelectorAll('.scroll, pre').forEach(function (box, i) {
      if (place.scrolled[i]) {
        box.scrollLeft = place.scrolled[i][0]
        box.scrollTop = place.scrolled[i][1]
      }
    })
    var focus = place.focus && block.querySelector(place.focus)
    if (focus) focus.focus({ preventScroll: true })
  }

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

  // Parameters without a value only make addresses long.
  document.addEventListener('htmx:configRequest', function (event) {
    var parameters = event.detail.parameters
    Object.keys(parameters).forEach(function (name) {
      if (parameters[name] === '') delete parameters[name]
    })
  })

  // --- copy, theme, keys ---------------------------------------------------------------------------------------------

  function decorate() {
    if (navigator.clipboard) {
      document.querySelectorAll('.copy[hidden]').forEach(function (button) { button.hidden = false })
    }
  }

  document.addEventListener('click', function (event) {
    var button = event.target.closest ? event.target.closest('.copy') : null
    if (!button) return
    event.preventDefault()
    navigator.clipboard.writeText(button.dataset.copy).then(function () {
      var label = button.querySelector('span')
      var text = label.textContent
      label.textContent = 'Copied'
      setTimeout(function () { label.textContent = text }, 1200)
    }, function () {})
  })

  var theme = document.getElementById('theme')
  if (theme) {
    theme.hidden = false
    theme.addEventListener('click', function () {
      var root = document.documentElement
      var dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
      root.dataset.theme = dark ? 'light' : 'dark'
      try {
        localStorage.setItem('theme', root.dataset.theme)
      } catch {
        // Without storage it holds for this page.
      }
    })
  }

  document.addEventListener('keydown', function (event) {
    var search = document.getElementById('q')
    if (event.key === '/' && search && !/^(input|select|textarea)$/i.test(document.activeElement.tagName)) {
      event.preventDefault()
      search.focus()
      search.select()
    }
  })

  document.addEventListener('htmx:afterSettle', decorate)
  decorate()
})()
