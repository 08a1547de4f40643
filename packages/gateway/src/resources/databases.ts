import { BadRequestError } from '@tidemark/contracts'
import type { DatabaseRecord } from '@tidemark/store/engine'
import { jsonAnswer } from '../protocol/answer.ts'
import { HEADER } from '../protocol/header-names.ts'
import { parseJsonRecord } from '../protocol/request-values.ts'
import { METADATA_CHARGE, chargeText } from '../protocol/request-charge.ts'
import type { Operation } from '../requests/gateway-request.ts'
import { answerList } from './answer-list.ts'
import { assertMatch } from './change-record.ts'
import { databaseAnnotationText } from './container-annotation.ts'
import { givenOffer } from './offer.ts'
import { databaseName } from './resource-names.ts'

const CHARGE = { [HEADER.requestCharge]: chargeText(METADATA_CHARGE) }

/** POST /dbs */
export const createDatabase: Operation = async (request, { store }) => {
  const { id } = parseJsonRecord(await request.readBody())
  if (typeof id !== 'string') throw new BadRequestError('a database needs an "id" that is a string')
  const offer = givenOffer(request)
  const annotation = offer && databaseAnnotationText(offer)
  const database = await store.createDatabase(id, { annotation })
  const record = await database.readRecord()
  return jsonAnswer(201, databaseBody(record), { ...CHARGE, [HEADER.etag]: record.etag })
}

/** GET /dbs, and POST /dbs as a query. */
export const listDatabases: Operation = async (request, { store }) => {
  const databases = await store.listDatabases()
  return answerList(request, { rid: '', name: 'Databases', items: databases, bodyOf: databaseBody })
}

/** GET /dbs/{db} */
export const readDatabase: Operation = async ({ path, header }, { store }) => {
  const record = await store.database(databaseName(path)).readRecord()
  if (header(HEADER.ifNoneMatch) === record.etag) {
    return { status: 304, headers: { ...CHARGE, [HEADER.etag]: record.etag } }
  }
  return jsonAnswer(200, databaseBody(record), { ...CHARGE, [HEADER.etag]: record.etag })
}

/** DELETE /dbs/{db} */
export const deleteDatabase: Operation = async ({ path, header }, { store, collections }) => {
  const name = databaseName(path)
  const ifMatch = header(HEADER.ifMatch)
  if (ifMatch !== undefined) assertMatch(await store.database(name).readRecord(), ifMatch)
  await store.deleteDatabase(name)
  collections.forgetAll()
  return { status: 204, headers: CHARGE }
}

function databaseBody({ id, rid, etag, ts }: DatabaseRecord): Readonly<Record<string, unknown>> {
  return {
    id,
    _rid: rid,
    _self: `dbs/${rid}/`,
    _etag: etag,
    _colls: 'colls/',
    _users: 'users/',
    _ts: ts,
  }
}
