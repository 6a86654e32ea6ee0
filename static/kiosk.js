// A list on a wall screen shows as many rows as there is room for: nobody scrolls there. Without this the rest is cut.
(function () {
  'use strict'

  var pager = null
  var said = ''

  // The words of the pager are those of the server, with the number of the last row that is to be seen.
  function tell(shown, all) {
    var span = document.querySelector('#list .pager > span')
    var text = span && span.firstChild
    if (!text || text.nodeType !== 3) return
    if (text !== pager) { pager = text; said = text.data }
    text.data = shown < all ? said.replace(/\u2013\d+/, '\u2013' + shown) : said
  }

  function fit() {
    var body = document.querySelector('#list table.rows tbody')
    if (!body) return
    var rows = Array.from(body.rows)
    rows.forEach(function (row) { row.hidden = false })
    var shown = innerWidth < 761 ? rows.length : fitting(rows)
    tell(shown, rows.length)
  }

  // How many are left to be seen. Each row that is hidden may give the columns of the others another width.
  function fitting(rows) {
    var room = innerHeight
    var root = document.documentElement
    var shown = rows.filter(function (row, i) { return !i || row.getBoundingClientRect().top < room }).length
    rows.slice(shown).forEach(function (row) { row.hidden = true })
    for (; shown > 1 && root.scrollHeight > room; shown--) rows[shown - 1].hidden = true
    for (; shown < rows.length; shown++) {
      rows[shown].hidden = false
      if (root.scrollHeight <= room) continue
      rows[shown].hidden = true
      break
    }
    return shown
  }

  addEventListener('resize', fit)
  document.addEventListener('htmx:wsAfterMessage', fit)
  fit()
})()
