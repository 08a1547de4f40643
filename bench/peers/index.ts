export { RIVAL_QUEUES } from './queues/rival-queues.ts'
export { listPeers, runPeers } from './run-peers.ts'
