/** A document as it is once it is stored: dates and the like are texts, what is undefined is not there. */
export function storedForm(document: object): object {
  const stored: unknown = JSON.parse(JSON.stringify(document))
  return typeof stored === 'object' && stored !== null ? stored : {}
}
