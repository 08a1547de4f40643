import { SeededRandom } from '@tidemark/testing/simulation'
import { sequenceSeed } from '../../model/sequence-seed.ts'
import type { FuzzRequest } from '../fuzz-request.ts'
import { randomRawRequest } from './raw-requests.ts'
import { randomSignedRequest } from './signed-requests.ts'

/** Share of requests that are hardly any: most of those end in Node's parser. */
const RAW = 0.2

/** Request number `index` of a seed: always the same. */
export function generateRequest(seed: number, index: number): FuzzRequest {
  const random = new SeededRandom(sequenceSeed(seed, index))
  return random.chance(RAW) ? randomRawRequest(random) : randomSignedRequest(random)
}
