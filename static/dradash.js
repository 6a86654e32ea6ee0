// What HTML cannot do: say whether the page is live, count ages on, announce verdicts, copy, remember the theme. Everything works without
// it, only not live. place.js keeps the reader's place while blocks are replaced, hold.js a row that is read; keys.js is
// the keyboard.
(function () {
  'use strict'

  // --- live or not ---------------------------------------------------------------------------------------------------

  var SILENCE = 30000 // ms: the server says something every 10 s, so after this the socket is dead
  var WORDS = {
    off: 'not live',
    connecting: 'connecting',
    live: 'live',
    old: 'connected, old data',
    lost: 'not live, reconnecting'
  }
  var socket = null
  var heard = 0

  function show(state) {
    var element = document.getElementById('live-state')
    if (!element || element.dataset.state === state) return
    element.dataset.state = state
    element.querySelector('[data-live-text]').textContent = WORDS[state]
    document.body.classList.toggle('not-live', state === 'lost' || state === 'old')
  }

  // The socket may be well while what comes through it is not: the server then says so in the line about freshness.
  function connected() {
    show(document.querySelector('[data-checked][data-old]') ? 'old' : 'live')
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
    connected()
    if (event.detail.message === 'reload') {
      event.preventDefault()
      location.reload()
    }
  })
  window.addEventListener('online', reconnect)
  // Brought back from the browser's cache, a page has missed everything since.
  window.addEventListener('pageshow', function (event) { if (event.persisted) location.reload() })
  document.addEventListener('visibilitychange', reconnect)
  setInterval(reconnect, 5000)

  // --- where we are ---------------------------------------------------------------------------------------------------

  // On a narrow screen the sections scroll sideways: the current one is to be seen.
  var current = document.querySelector('.sections a[aria-current]')
  if (current) {
    var row = current.parentElement
    row.scrollLeft = current.offsetLeft - row.offsetLeft - (row.clientWidth - current.offsetWidth) / 2
  }

  // --- ages ----------------------------------------------------------------------------------------------------------

  var UNITS = [[86400, 'd'], [3600, 'h'], [60, 'm'], [1, 's']]

  var short = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' })

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

  // form: "ago" for a sentence, where the time may also be to come; else the age alone.
  function told(form, seconds) {
    if (form !== 'ago') return ageText(Math.max(0, seconds))
    return seconds < 0 ? 'in ' + ageText(-seconds) : ageText(seconds) + ' ago'
  }

  function tick() {
    if (document.visibilityState !== 'visible') return
    var now = Date.now()
    var exactly = document.body.classList.contains('exact')
    // What was last seen some time ago does not look alive.
    document.querySelectorAll('time[data-age]').forEach(function (element) {
      if (!exactly && element.closest('.last-seen') && !element.closest('.as-last-seen')) return
      var then = Date.parse(element.dateTime)
      if (isNaN(then)) return
      var text = exactly ? short.format(then) : told(element.dataset.age, Math.trunc((now - then) / 1000))
      if (element.textContent !== text) element.textContent = text
    })
  }
  setInterval(tick, 1000)

  // Parameters without a value only make addresses long.
  document.addEventListener('htmx:configRequest', function (event) {
    var parameters = event.detail.parameters
    Object.keys(parameters).forEach(function (name) {
      if (parameters[name] === '') delete parameters[name]
    })
  })

  // --- exact times ---------------------------------------------------------------------------------------------------

  var zone = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })

  // In the viewer's own zone, then in UTC as logs have it.
  function exact(element) {
    var then = Date.parse(element.dateTime)
    return isNaN(then) ? '' : zone.format(then) + '\n' + new Date(then).toISOString().replace('T', ' ').slice(0, 19) + ' UTC'
  }

  function explain(event) {
    var root = event.target.closest ? event.target.closest('time, a, tr, button, summary') : null
    if (!root) return
    var times = root.tagName === 'TIME' ? [root] : event.type === 'focusin' ? root.querySelectorAll('time') : []
    times.forEach(function (element) { element.title = exact(element) || element.title })
  }
  document.addEventListener('mouseover', explain)
  document.addEventListener('focusin', explain)

  // For the keyboard and for touch: all ages of the page become times, and back.
  document.addEventListener('dradash:exact', function () {
    document.body.classList.toggle('exact')
    tick()
  })

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

  document.addEventListener('htmx:wsAfterMessage', announce)
  document.addEventListener('htmx:wsAfterMessage', connected)

  // --- copy, theme ---------------------------------------------------------------------------------------------------

  function copied(button, text) {
    var label = button.querySelector('span')
    var before = button.dataset.label || label.textContent
    button.dataset.label = before
    label.textContent = text
    setTimeout(function () { label.textContent = before }, 1200)
  }

  // Pages that come over plain HTTP from another machine have no clipboard: the old way works there.
  function copyOldWay(text) {
    var area = document.createElement('textarea')
    area.value = text
    area.className = 'sr'
    document.body.append(area)
    area.select()
    var done = document.execCommand('copy')
    area.remove()
    return done
  }

  document.addEventListener('click', function (event) {
    var button = event.target.closest ? event.target.closest('.copy') : null
    if (!button) return
    event.preventDefault()
    var text = button.dataset.copy
    function oldWay() {
      copied(button, copyOldWay(text) ? 'Copied' : 'Not copied')
      button.focus()
    }
    if (!navigator.clipboard) return oldWay()
    navigator.clipboard.writeText(text).then(function () { copied(button, 'Copied') }, oldWay)
  })

  var theme = document.getElementById('theme')
  if (theme) {
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
})()
