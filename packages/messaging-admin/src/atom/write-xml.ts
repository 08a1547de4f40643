import type { XmlElement } from './xml-element.ts'

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\r': '&#xD;',
}
/** What XML 1.0 cannot hold, not even escaped. */
// oxlint-disable-next-line no-control-regex -- These are the characters that it is about.
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

export function writeXml({ name, attributes, children, text }: XmlElement): string {
  const given = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`)
  const content = children.map((child) => writeXml(child)).join('') + escaped(text)
  return `<${name}${given.join('')}>${content}</${name}>`
}

function escaped(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(FORBIDDEN, '\ufffd')
    .replaceAll(/[&<>"\r]/g, (character) => ESCAPES[character]!)
}
