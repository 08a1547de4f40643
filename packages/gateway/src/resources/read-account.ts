import { jsonAnswer } from '../protocol/answer.ts'
import type { Operation } from '../requests/gateway-request.ts'

/**
 * GET /: what every client asks first. The endpoints are the address that this client used, or it would leave for
 * another one.
 */
export const readAccount: Operation = async ({ origin }, { accountId }) => {
  const locations = [{ name: 'Local', databaseAccountEndpoint: `${origin}/` }]
  return jsonAnswer(200, {
    _self: '',
    id: accountId,
    _rid: accountId,
    media: '//media/',
    addresses: '//addresses/',
    _dbs: '//dbs/',
    writableLocations: locations,
    readableLocations: locations,
    enableMultipleWriteLocations: false,
    userReplicationPolicy: { asyncReplication: false, minReplicaSetSize: 1, maxReplicasetSize: 1 },
    userConsistencyPolicy: { defaultConsistencyLevel: 'Session' },
    systemReplicationPolicy: { minReplicaSetSize: 1, maxReplicasetSize: 1 },
    readPolicy: { primaryReadCoefficient: 1, secondaryReadCoefficient: 1 },
    queryEngineConfiguration: JSON.stringify({
      // What a client may plan by itself: .NET on Windows does. source: QueryPartitionProviderTestInstance of its tests.
      maxSqlQueryInputLength: 262_144,
      maxJoinsPerSqlQuery: 5,
      maxLogicalAndPerSqlQuery: 2000,
      maxLogicalOrPerSqlQuery: 2000,
      maxUdfRefPerSqlQuery: 10,
      maxInExpressionItemsCount: 16_000,
      queryMaxInMemorySortDocumentCount: 500,
      maxQueryRequestTimeoutFraction: 0.9,
      sqlAllowNonFiniteNumbers: false,
      sqlAllowAggregateFunctions: true,
      sqlAllowSubQuery: true,
      sqlAllowScalarSubQuery: true,
      allowNewKeywords: true,
      sqlAllowLike: true,
      sqlAllowGroupByClause: true,
      sqlAllowTop: true,
      maxSpatialQueryCells: 12,
      spatialMaxGeometryPointCount: 256,
      enableSpatialIndexing: true,
    }),
  })
}
