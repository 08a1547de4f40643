/*
 * The invariants of a collection, $1. Each statement returns a sentence for each violation.
 */

const COVERED_KEYS = `SELECT CASE
  WHEN r.min IS NULL THEN format('the ranges end at "%s", not at "FF"', r.covered)
  ELSE format('range %s begins at "%s", not at "%s"', r.number, r.min, r.covered) END
FROM (SELECT k.number, k.min, lag(k.max, 1, '') OVER (ORDER BY k.min NULLS LAST) AS covered
  FROM (SELECT number, min, max FROM :schema.pkrange WHERE coll = $1
    UNION ALL SELECT NULL, NULL, NULL) k) r
WHERE coalesce(r.min, 'FF') <> r.covered`

const OPEN_SEGMENTS = `SELECT format('range %s writes to segment %s, which does not take its writes', r.number, r.segment)
FROM :schema.pkrange r WHERE r.coll = $1 AND NOT EXISTS (
  SELECT 1 FROM :schema.segment s JOIN :schema.pkrange_segment m ON m.segment = s.id
  WHERE s.id = r.segment AND s.state = 'open' AND s.coll = r.coll AND s.min = r.min AND s.max = r.max
    AND m.coll = r.coll AND m.pkrange = r.number)
UNION ALL SELECT format('segment %s is open, and no range writes to it', s.id)
FROM :schema.segment s WHERE s.coll = $1 AND s.state = 'open' AND NOT EXISTS (
  SELECT 1 FROM :schema.pkrange r WHERE r.coll = $1 AND r.segment = s.id)`

/** A segment that no range has any more must not hold anything that is still needed. */
const SEGMENTS_IN_USE = `SELECT format('segment %s is in no range', s.id)
FROM :schema.segment s WHERE s.coll = $1 AND s.state <> 'dropped'
  AND NOT EXISTS (SELECT 1 FROM :schema.pkrange_segment m WHERE m.segment = s.id)
UNION ALL SELECT format('segment %s is dropped, and has documents', s.id)
FROM :schema.segment s WHERE s.coll = $1 AND s.state = 'dropped'
  AND EXISTS (SELECT 1 FROM :schema.doc d WHERE d.segment = s.id)
UNION ALL SELECT format('segment %s is dropped, and range %s has it', s.id, m.pkrange)
FROM :schema.segment s JOIN :schema.pkrange_segment m ON m.segment = s.id
WHERE s.coll = $1 AND s.state = 'dropped'`

const DOCUMENTS_IN_FEED = `SELECT format('document %s is in the index and in no feed', ${nameOfRow()})
FROM :schema.doc d WHERE d.coll = $1 AND NOT EXISTS (
  SELECT 1 FROM :schema.pkrange_segment m
  JOIN :schema.pkrange r ON r.coll = m.coll AND r.number = m.pkrange
  WHERE m.segment = d.segment AND m.coll = d.coll AND d.epk >= r.min AND d.epk < r.max)`

/** The index of expiry, which must be exact while no documents are refiled. */
const FILED_EXPIRY = `SELECT 'past values of defaultTtl, but no work on them'
FROM :schema.collection c WHERE c.number = $1 AND c.reindex IS NULL AND c.eras <> '[]'
UNION ALL SELECT format('document %s is filed under second %s, not %s', ${nameOfRow()}, d.exp,
  :schema.expiry_second(d.ts, d.ttl, c.default_ttl))
FROM :schema.collection c JOIN :schema.doc d ON d.coll = c.number AND d.kind = 0
WHERE c.number = $1 AND c.reindex IS NULL
  AND d.exp <> :schema.expiry_second(d.ts, d.ttl, c.default_ttl)`

/** Only expired documents can have lost entries, to documents that were written since then. */
const UNIQUE_ENTRIES = `SELECT format('entry %s of document %s has no document', u.ukey, u.id)
FROM :schema.unique_entry u WHERE u.coll = $1 AND NOT EXISTS (
  SELECT 1 FROM :schema.doc d
  WHERE d.coll = u.coll AND d.epk = u.epk AND d.pk = u.pk AND d.id = u.id AND d.kind = 0)
UNION ALL SELECT format('document %s has %s entries of %s unique keys', d.id, e.count, c.keys)
FROM (SELECT number, coalesce(json_array_length(definition::json -> 'uniqueKeys'), 0) AS keys
  FROM :schema.collection WHERE number = $1 AND reindex IS NULL) c
JOIN :schema.doc d ON d.coll = c.number AND d.kind = 0 AND d.exp = 0
CROSS JOIN LATERAL (SELECT count(*) AS count FROM :schema.unique_entry u
  WHERE u.coll = d.coll AND u.epk = d.epk AND u.pk = d.pk AND u.id = d.id) e
WHERE e.count <> c.keys`

/** The parts of a definition that SQL reads from columns of their own. */
const REPEATED_DEFINITION = `SELECT 'the columns default_ttl, log and has_unique are not as defined'
FROM :schema.collection c CROSS JOIN LATERAL (SELECT c.definition::json AS json) d WHERE c.number = $1 AND (
  c.default_ttl IS DISTINCT FROM (d.json ->> 'defaultTtl')::integer
  OR c.log <> CASE WHEN d.json ->> 'allVersions' IS NULL THEN 0
    WHEN (d.json -> 'allVersions' ->> 'previousImages')::boolean THEN 2 ELSE 1 END
  OR c.has_unique <> (d.json -> 'uniqueKeys' IS NOT NULL)
  OR c.log > 0 AND NOT c.logged)`

export const COLLECTION_CHECKS: readonly string[] = [
  COVERED_KEYS,
  OPEN_SEGMENTS,
  SEGMENTS_IN_USE,
  REPEATED_DEFINITION,
  rowsOfSegments('doc'),
  rowsOfSegments('log'),
  orderOfTime('doc', 'ts'),
  orderOfTime('log', 'at'),
  DOCUMENTS_IN_FEED,
  FILED_EXPIRY,
  UNIQUE_ENTRIES,
]

function rowsOfSegments(table: 'doc' | 'log'): string {
  return `SELECT format('${table} row %s ', ${nameOfRow()}) || CASE
  WHEN d.coll <> s.coll THEN format('is of collection %s', d.coll)
  WHEN d.lsn > s.lsn THEN format('has an LSN above the counter %s', s.lsn)
  WHEN d.lsn <= s.base THEN format('has an LSN that is not above %s', s.base)
  ELSE 'is outside its segment''s keys' END
FROM :schema.segment s JOIN :schema.${table} d ON d.segment = s.id
WHERE s.coll = $1 AND s.state <> 'dropped' AND (d.coll <> s.coll OR d.lsn > s.lsn OR d.lsn <= s.base
  OR NOT (d.epk >= s.min AND d.epk < s.max))`
}

/** Rows that were moved to their segment may be out of time order. */
function orderOfTime(table: 'doc' | 'log', column: 'ts' | 'at'): string {
  return `SELECT format('${table} row %s has time %s after %s', ${nameOfRow()}, d.time, d.before)
FROM (SELECT d.segment, d.lsn, d.ord, d.${column} AS time,
    lag(d.${column}) OVER (PARTITION BY d.segment ORDER BY d.lsn, d.ord) AS before
  FROM :schema.segment s JOIN :schema.${table} d ON d.segment = s.id
  WHERE s.coll = $1 AND s.state <> 'dropped' AND NOT s.folded) d
WHERE d.time < d.before`
}

function nameOfRow(): string {
  return `format('%s/%s/%s', d.segment, d.lsn, d.ord)`
}
