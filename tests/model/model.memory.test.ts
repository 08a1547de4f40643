import { modelSlice } from './model-slice.ts'

modelSlice({
  engine: 'memory',
  place: () => Promise.resolve({ engine: 'memory' }),
})
