import { expect, test } from 'vitest'
import { readXml } from './read-xml.ts'
import { writeXml } from './write-xml.ts'
import { element } from './xml-element.ts'

test('elements have names and types without prefixes, texts as they stand, and no comments', () => {
  const read = readXml(
    '<?xml version="1.0"?>\n<a:entry xmlns:a="x" a:type="l28:double">\n' +
      '  <b>  t&amp;&lt;&#65;&#x1F600;<![CDATA[<&amp;>]]> </b><!-- <c/> --><d/>\n</a:entry>\n',
  )
  expect(read).toEqual(
    element('entry', [element('b', '  t&<A\u{1f600}<&amp;> '), element('d', '')], {
      type: 'l28:double',
    }),
  )
})

test.each([
  '',
  ' ',
  'plain',
  'a & b < c > d "e" \'f\'',
  '\u00e9\u4e16\u{1f600}',
  'a\r\nb\tc',
  ']]>',
])('the text %j comes back as it was written, also as an attribute', (text) => {
  const written = element('a', [element('b', text, { c: text })])
  expect(readXml(writeXml(written))).toEqual(written)
})

test('what XML cannot hold is written as a replacement character', () => {
  const text = 'a\u0000b\u001b\ud800c\uffff'
  expect(readXml(writeXml(element('a', text))).text).toBe('a\ufffdb\ufffd\ufffdc\ufffd')
})

test.each([
  ['nothing', ''],
  ['no element', '<!-- a -->'],
  ['two roots', '<a/><b/>'],
  ['a wrong end', '<a></b>'],
  ['no end', '<a>'],
  ['an attribute twice', '<a b="1" b="2"/>'],
  ['CDATA without an end', '<a><![CDATA[x</a>'],
  ['a DOCTYPE', '<!doctype a><a/>'],
  ['an unknown entity', '<a>&nbsp;</a>'],
  ['an unfinished entity', '<a>&amp</a>'],
  ['half of a character', '<a>&#xFFFFFFF;</a>'],
  ['NUL', '<a b="&#0;"/>'],
  ['a name that is one of the language', '<toString/><a/>'],
  ['depth', `${'<a>'.repeat(30)}${'</a>'.repeat(30)}`],
  ['many elements', `<a>${'<b/>'.repeat(10_001)}</a>`],
  ['many attributes without values', `<a${' b'.repeat(10_001)}/>`],
  ['many attributes', `<a${Array.from({ length: 10_001 }, (_, n) => ` b${n}=""`).join('')}/>`],
])('a document with %s is refused', (_name, text) => {
  expect(() => readXml(text)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_REQUEST' }))
})
