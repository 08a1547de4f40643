import { ResourceNotFoundError, BadRequestError } from '@tidemark/contracts'
import { postDocuments, getDocuments } from './documents-verbs.ts'
import { deletePartitionKey } from '../documents/delete-partition-key.ts'
import { patchDocument } from '../documents/patch-document.ts'
import { readDocument } from '../documents/read-document.ts'
import { deleteDocument, replaceDocument } from '../documents/write-document.ts'
import { MethodNotAllowedError } from '../errors/method-not-allowed-error.ts'
import { answerCall, answerOrder } from '../extensions/answer-call.ts'
import { EXTENSION_OPERATION } from '../protocol/extension-wire.ts'
import {
  createContainer,
  deleteContainer,
  listContainers,
  readContainer,
  replaceContainer,
} from '../resources/containers.ts'
import {
  createDatabase,
  deleteDatabase,
  listDatabases,
  readDatabase,
} from '../resources/databases.ts'
import { listOffers, readOffer, replaceOffer } from '../resources/offers.ts'
import { readPkRanges } from '../resources/pk-ranges.ts'
import { readAccount } from '../resources/read-account.ts'
import {
  findNothing,
  listNothing,
  refuseScripts,
  refuseUnsupportedKind,
} from '../resources/unsupported.ts'
import { queryOr, type Access } from '../requests/query-or.ts'
import type { Operation } from '../requests/gateway-request.ts'

/** One verb on one kind of resource. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly operation: Operation
  /** What a key needs. @default 'read' for GET, else 'write' */
  readonly access?: Access | undefined
}

const DATABASE = '/dbs/:db'
const COLLECTIONS = `${DATABASE}/colls`
const COLLECTION = `${COLLECTIONS}/:coll`
const DOCUMENTS = `${COLLECTION}/docs`
const DOCUMENT = `${DOCUMENTS}/:doc`

/** Everything that is served. */
export const routes: readonly Route[] = [
  { method: 'GET', path: '/', operation: readAccount },
  { method: 'GET', path: '/dbs', operation: listDatabases },
  {
    method: 'POST',
    path: '/dbs',
    operation: queryOr(listDatabases, createDatabase),
    access: 'byHeaders',
  },
  { method: 'GET', path: DATABASE, operation: readDatabase },
  { method: 'DELETE', path: DATABASE, operation: deleteDatabase },
  { method: 'GET', path: COLLECTIONS, operation: listContainers },
  {
    method: 'POST',
    path: COLLECTIONS,
    operation: queryOr(listContainers, createContainer),
    access: 'byHeaders',
  },
  { method: 'GET', path: COLLECTION, operation: readContainer },
  { method: 'PUT', path: COLLECTION, operation: replaceContainer },
  { method: 'DELETE', path: COLLECTION, operation: deleteContainer },
  { method: 'GET', path: `${COLLECTION}/pkranges`, operation: readPkRanges },
  { method: 'GET', path: DOCUMENTS, operation: getDocuments },
  { method: 'POST', path: DOCUMENTS, operation: postDocuments, access: 'byHeaders' },
  { method: 'GET', path: DOCUMENT, operation: readDocument },
  { method: 'PUT', path: DOCUMENT, operation: replaceDocument },
  { method: 'PATCH', path: DOCUMENT, operation: patchDocument },
  { method: 'DELETE', path: DOCUMENT, operation: deleteDocument },
  {
    method: 'POST',
    path: `${COLLECTION}/operations/partitionkeydelete`,
    operation: deletePartitionKey,
  },
  {
    method: 'GET',
    path: `${COLLECTION}/operations/${EXTENSION_OPERATION}`,
    operation: answerCall,
  },
  {
    method: 'POST',
    path: `${COLLECTION}/operations/${EXTENSION_OPERATION}`,
    operation: answerOrder,
  },
  { method: 'GET', path: '/offers', operation: listOffers },
  { method: 'POST', path: '/offers', operation: listOffers, access: 'read' },
  { method: 'GET', path: '/offers/:offer', operation: readOffer },
  { method: 'PUT', path: '/offers/:offer', operation: replaceOffer },
  ...['sprocs', 'triggers', 'udfs', 'conflicts'].flatMap((scripts): readonly Route[] => [
    { method: 'GET', path: `${COLLECTION}/${scripts}`, operation: listNothing },
    {
      method: 'POST',
      path: `${COLLECTION}/${scripts}`,
      operation: queryOr(listNothing, refuseScripts),
      access: 'byHeaders',
    },
    { method: 'POST', path: `${COLLECTION}/${scripts}/:script`, operation: refuseScripts },
    { method: 'PUT', path: `${COLLECTION}/${scripts}/:script`, operation: refuseScripts },
    { method: 'GET', path: `${COLLECTION}/${scripts}/:script`, operation: findNothing },
    { method: 'DELETE', path: `${COLLECTION}/${scripts}/:script`, operation: findNothing },
  ]),
]

/** A resource that is served, but not with this verb. */
export const methodNotAllowed: Operation = async ({ method, path }) => {
  throw new MethodNotAllowedError(`${method} is not served for /${path.raw}`)
}

/** A path of no kind of resource that is served. */
export const noSuchResource: Operation = async ({ path }) => {
  refuseUnsupportedKind(path)
  if (path.resourceType === 'offers') {
    throw new BadRequestError(`an offer is addressed by its id alone, not as /${path.raw}`)
  }
  throw new ResourceNotFoundError('document', `/${path.raw}`)
}
