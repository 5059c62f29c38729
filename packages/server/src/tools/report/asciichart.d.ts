/** The part of asciichart that is used; the package brings no declarations. */
declare module "asciichart" {
  export interface PlotConfig {
    readonly min?: number;
    readonly max?: number;
    readonly height?: number;
    readonly format?: (value: number) => string;
  }
  export function plot(series: readonly number[], config?: PlotConfig): string;
}
