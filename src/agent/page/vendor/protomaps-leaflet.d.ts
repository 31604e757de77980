/** What the page uses of protomaps-leaflet. */

import { L } from "./leaflet.js";

interface Feature { props: Record<string, unknown> }
interface Symbolizer { readonly draw: unknown }
interface LabelSymbolizer { readonly place: unknown }
export interface PaintRule {
  dataLayer: string;
  symbolizer: Symbolizer;
  filter?: (zoom: number, feature: Feature) => boolean;
}
export interface LabelRule { dataLayer: string; symbolizer: LabelSymbolizer; minzoom?: number }
interface TextOptions {
  labelProps: string[]; fill: string; stroke: string; width: number; font: string;
}

export function leafletLayer(options: {
  url: string; maxDataZoom: number; backgroundColor: string;
  paintRules: PaintRule[]; labelRules: LabelRule[];
}): L.Layer;
export const PolygonSymbolizer: new (options: { fill: string }) => Symbolizer;
export const LineSymbolizer: new (options: { color: string; width: number }) => Symbolizer;
export const CenteredTextSymbolizer: new (options: TextOptions) => LabelSymbolizer;
export const LineLabelSymbolizer: new (options: TextOptions) => LabelSymbolizer;
