import { testDifferedPrograms } from './differed-programs.ts'

testDifferedPrograms('memory')
