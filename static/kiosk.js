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
    if (text !== pager || text.data.indexOf('\u2013') < 0) { pager = text; said = text.data }
    text.data = shown < all ? said.replace(/\u2013\d+/, '\u2013' + shown) : said
  }

  function fit() {
    var body = document.querySelector('#list table.rows tbody')
    if (!body || innerWidth < 761) return
    var rows = Array.from(body.rows)
    rows.forEach(function (row) { row.hidden = false })
    var room = innerHeight
    var root = document.documentElement
    var shown = rows.length
    // A screen's rows come first, so that fifty need not be measured one by one.
    for (; shown > 1 && rows[shown - 1].getBoundingClientRect().top > room; shown--) rows[shown - 1].hidden = true
    for (; shown > 1 && root.scrollHeight > room; shown--) rows[shown - 1].hidden = true
    tell(shown, rows.length)
  }

  addEventListener('resize', fit)
  document.addEventListener('htmx:wsAfterMessage', fit)
  fit()
})()
