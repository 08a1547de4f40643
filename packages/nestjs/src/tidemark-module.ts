import {
  ConfigurableModuleBuilder,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type FactoryProvider,
} from '@nestjs/common'
import { DiscoveryModule, DiscoveryService, ModuleRef } from '@nestjs/core'
import { TidemarkHosts } from './tidemark-hosts.ts'
import type { TidemarkModuleOptions } from './tidemark-module-options.ts'

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } =
  new ConfigurableModuleBuilder<TidemarkModuleOptions>({ moduleName: 'Tidemark' })
    .setClassMethodName('forRoot')
    .build()

const hosts: FactoryProvider<TidemarkHosts> = {
  provide: TidemarkHosts,
  inject: [MODULE_OPTIONS_TOKEN, DiscoveryService, ModuleRef],
  useFactory: (options: TidemarkModuleOptions, discovery: DiscoveryService, moduleRef: ModuleRef) =>
    new TidemarkHosts({ options, discovery, moduleRef }),
}

/**
 * Runs a host for each method with `@ChangeFeedHandler`, wherever in the application it is: it starts them with the application
 * (`onApplicationBootstrap`), and drains them in `beforeApplicationShutdown`. Import it once. It is global: `TidemarkHosts` can be
 * injected everywhere.
 */
export class TidemarkModule {
  static forRoot(options: TidemarkModuleOptions): DynamicModule {
    return withHosts(ConfigurableModuleClass.forRoot(options))
  }

  /** With options from a factory or a class (`create()`), which may inject. */
  static forRootAsync(
    options: ConfigurableModuleAsyncOptions<TidemarkModuleOptions>,
  ): DynamicModule {
    return withHosts(ConfigurableModuleClass.forRootAsync(options))
  }
}

function withHosts({ imports = [], providers = [] }: DynamicModule): DynamicModule {
  return {
    module: TidemarkModule,
    global: true,
    imports: [...imports, DiscoveryModule],
    providers: [...providers, hosts],
    exports: [TidemarkHosts],
  }
}
