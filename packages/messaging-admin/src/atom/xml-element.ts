/** An element of XML, without the prefix of its namespace where it was read. It has text or children. */
export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly XmlElement[]
  readonly text: string
}

/** What an element may be made of: those that are undefined are left out. */
export type XmlContent = string | readonly (XmlElement | undefined)[]

export function element(
  name: string,
  content: XmlContent,
  attributes: Readonly<Record<string, string>> = {},
): XmlElement {
  if (typeof content === 'string') return { name, attributes, children: [], text: content }
  return { name, attributes, children: content.filter((one) => one !== undefined), text: '' }
}

export function childOf(parent: XmlElement, name: string): XmlElement | undefined {
  return parent.children.find((child) => child.name === name)
}
