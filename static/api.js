// The forms of the API's page: without empty parameters, with names in the path, and the answer below the form.
(function () {
  'use strict'

  var LONGEST = 200000 // characters of an answer that are shown

  function address(form) {
    var path = form.dataset.path
    var query = new URLSearchParams()
    new FormData(form).forEach(function (value, name) {
      if (path.indexOf('{' + name + '}') >= 0) path = path.replace('{' + name + '}', encodeURIComponent(value))
      else if (value !== '') query.append(name, value)
    })
    var text = query.toString()
    return path + (text ? '?' + text : '')
  }

  function show(form, text) {
    var answer = form.querySelector('.api-answer')
    answer.hidden = false
    answer.textContent = text.length > LONGEST ? text.slice(0, LONGEST) + '\n… (' + text.length + ' characters)' : text
  }

  function pretty(text) {
    try { return JSON.stringify(JSON.parse(text), null, 2) } catch (error) { return text }
  }

  document.addEventListener('input', function (event) {
    var form = event.target.closest('.api-operation form')
    if (form) form.querySelector('.api-address').textContent = address(form)
  })

  document.addEventListener('submit', function (event) {
    var form = event.target.closest('.api-operation form')
    if (!form) return
    event.preventDefault()
    var there = address(form)
    form.querySelector('.api-address').textContent = there
    if (/[?&]watch=(1|true)(&|$)/.test(there)) { window.open(there, '_blank', 'noopener'); return }
    show(form, 'asking…')
    fetch(there, { headers: { Accept: 'application/json' } }).then(function (response) {
      return response.text().then(function (text) {
        show(form, response.status + ' ' + response.statusText + '\n\n' + pretty(text))
      })
    }, function (error) { show(form, String(error)) })
  })
})()
