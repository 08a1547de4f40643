/** Numbers of one timeline: more than will ever be needed. */
const NUMBERS_OF_TIMELINE = 2 ** 24
const TIMELINES = 64

/**
 * The next number of a sequence, as SQL. A fail-over may undo sequences too, while processes still cache the earlier
 * owners of these numbers: they would write into a segment of another collection. So each timeline of the server has
 * numbers of its own.
 */
export function nextNumber(
  sequence: 'database_number' | 'collection_number' | 'segment_number' | 'entity_number',
): string {
  const past = `greatest(:timeline - 1, 0) % ${TIMELINES} * ${NUMBERS_OF_TIMELINE}`
  return `(nextval(':schema.${sequence}') + ${past})`
}
