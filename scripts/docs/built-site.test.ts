import { expect, test } from 'vitest'
import { brokenSiteLinks, loadedFromElsewhere, wordsNotFound } from './built-site.ts'

test('links of the built site to a page or a heading that is not there are named', () => {
  const pages = new Map([
    [
      'index.html',
      '<a href="/guide/a.html#b">a</a> <a href="guide/gone.html">no</a> <a class="x" href="#c">no</a>' +
        '<a href="https://example.org/x#y">out</a> <a href="/guide/">its index</a>',
    ],
    ['guide/index.html', '<a href="../index.html">up</a><a href="./a.html#gone">no</a>'],
    ['guide/a.html', '<h2 id="b" tabindex="-1">B</h2><a href="/">home</a>'],
  ])
  expect(brokenSiteLinks(pages)).toEqual([
    'index.html: guide/gone.html leads to no page',
    'index.html: #c leads to no heading',
    'guide/index.html: ./a.html#gone leads to no heading',
  ])
})

test('what is loaded from another address is named, and links and own assets are not', () => {
  const html =
    '<link rel="stylesheet" href="/assets/style.css"><a href="https://example.org">out</a><img src="data:image/png;base64,AA">' +
    '<link rel="preload" href="https://fonts.example/inter.woff2"><script src="//cdn.example/x.js"></script>'
  expect(loadedFromElsewhere(html)).toEqual([
    'https://fonts.example/inter.woff2',
    '//cdn.example/x.js',
  ])
  const css = 'a{background:url(/assets/a.svg)} @import "https://cdn.example/b.css";'
  expect(loadedFromElsewhere(css)).toEqual(['https://cdn.example/b.css'])
})

test('words that do not lead to their page are named with what they lead to', () => {
  const expected = new Map([
    ['lease', '/concepts.html'],
    ['queue', '/guide/queues.html'],
    ['nothing', '/x.html'],
  ])
  const answers: Readonly<Record<string, readonly string[]>> = {
    lease: ['/spec/leases.html', '/concepts.html#leases-over-hosts'],
    queue: ['/concepts.html'],
  }
  expect(wordsNotFound(expected, (words) => answers[words] ?? [])).toEqual([
    'a search for "queue" finds /concepts.html, not /guide/queues.html',
    'a search for "nothing" finds nothing, not /x.html',
  ])
})
