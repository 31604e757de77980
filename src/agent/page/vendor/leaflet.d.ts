/** What the page uses of Leaflet. */

export namespace L {
  interface PixelPoint { x: number; y: number }
  type At = LatLng | GeoPoint;
  interface GeoPoint {
    lat: number;
    lng: number;
    wrap(): GeoPoint;
    distanceTo(other: At): number;
  }
  interface Bounds {
    getWest(): number;
    getEast(): number;
    getSouth(): number;
    getNorth(): number;
    getCenter(): GeoPoint;
  }
  interface Padding { paddingTopLeft: PixelPair; paddingBottomRight: PixelPair; maxZoom?: number }
  type PixelPair = [number, number];

  interface Map {
    on(events: "click", act: (event: { latlng: GeoPoint }) => void): this;
    on(events: string, act: () => void): this;
    whenReady(act: () => void): this;
    getContainer(): HTMLElement;
    createPane(name: string): HTMLElement;
    getSize(): PixelPoint;
    getBounds(): Bounds;
    getCenter(): GeoPoint;
    getZoom(): number;
    getMaxZoom(): number;
    setView(at: At, zoom: number): this;
    fitBounds(bounds: Bounds, options: Padding): this;
    panInside(at: At, options: Padding): this;
    invalidateSize(options: { animate: boolean; pan: boolean }): this;
    latLngToContainerPoint(at: At): PixelPoint;
    latLngToLayerPoint(at: At): PixelPoint;
    containerPointToLatLng(at: PixelPair): GeoPoint;
    containerPointToLayerPoint(at: PixelPair): PixelPoint;
    layerPointToLatLng(at: PixelPair): GeoPoint;
  }
  interface Layer {
    addTo(parent: Map | Group): this;
    remove(): this;
    on(event: string, act: () => void): this;
  }
  interface Group extends Layer { clearLayers(): this }
  interface Marker extends Layer {
    /** Absent until the marker is on a map. */
    getElement(): HTMLElement | undefined;
    getLatLng(): GeoPoint;
    setLatLng(at: At): this;
    setZIndexOffset(offset: number): this;
    bindTooltip(content: HTMLElement, options: object): this;
  }
  interface Control { addTo(map: Map): this; onAdd(map: Map): HTMLElement }
  interface Icon { readonly options: object }

  function map(container: HTMLElement, options: object): Map;
  function latLng(at: At): GeoPoint;
  function latLngBounds(points: At[]): Bounds;
  function layerGroup(): Group;
  function featureGroup(): Group;
  function divIcon(options: object): Icon;
  function marker(at: At, options: {
    icon: Icon; keyboard?: boolean; riseOnHover?: boolean; zIndexOffset?: number;
  }): Marker;
  function polyline(points: At[], options: object): Layer;
  function circle(at: At, options: object): Layer;
  function tileLayer(url: string, options: {
    subdomains: string | string[]; maxZoom: number; maxNativeZoom: number;
    referrerPolicy: ReferrerPolicy;
  }): Layer;
  const control: {
    (options: { position: string }): Control;
    scale(options: object): Control;
    zoom(options: object): Control;
  };
  const DomEvent: { disableClickPropagation(node: HTMLElement): void };
}
