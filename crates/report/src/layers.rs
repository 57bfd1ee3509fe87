//! A layout of nodes in layers, for pictures of nets and graphs. The layer of each node is given;
//! this file chooses the positions within the layers. Several passes move the nodes of each layer
//! towards the middle of their neighbours, in turn those above and those below.

use crate::svg::MARGIN;

const GAP: f64 = 14.0;
/// Number of passes that move nodes towards their neighbours.
const SWEEPS: usize = 12;

/// The positions of nodes.
pub(crate) struct Layers {
    /// For each node, its layer and the horizontal position of its middle.
    pub places: Vec<(usize, f64)>,
    pub widths: Vec<f64>,
    layers: Vec<Vec<usize>>,
    /// For each node, its neighbours above and below.
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
}

impl Layers {
    /// Lays out nodes with these layers and widths. Each connection leads from a node down to
    /// another.
    pub fn new(layer: &[usize], widths: Vec<f64>, connections: &[(usize, usize)]) -> Self {
        let mut layers = vec![Vec::new(); layer.iter().max().map_or(0, |last| last + 1)];
        for (at, &layer) in layer.iter().enumerate() {
            layers[layer].push(at);
        }
        let mut all = Self {
            places: layer.iter().map(|&layer| (layer, 0.0)).collect(),
            widths,
            layers,
            above: vec![Vec::new(); layer.len()],
            below: vec![Vec::new(); layer.len()],
        };
        for &(upper, lower) in connections {
            all.above[lower].push(upper);
            all.below[upper].push(lower);
        }
        for at in 0..all.layers.len() {
            all.spread(at);
        }
        for sweep in 0..SWEEPS {
            let down = sweep % 2 == 0;
            for step in 0..all.layers.len() {
                let at = if down {
                    step
                } else {
                    all.layers.len() - 1 - step
                };
                all.pull(at, down);
            }
        }
        let left = (0..layer.len()).map(|at| all.left(at));
        let shift = MARGIN - left.fold(f64::INFINITY, f64::min);
        for place in &mut all.places {
            place.1 += shift;
        }
        all
    }

    /// Returns the number of layers.
    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// Returns the left end of a node.
    pub fn left(&self, node: usize) -> f64 {
        self.places[node].1 - self.widths[node] / 2.0
    }

    /// Returns the right end of all nodes.
    pub fn right(&self) -> f64 {
        let ends = self.places.iter().zip(&self.widths);
        let ends = ends.map(|(place, width)| place.1 + width / 2.0);
        ends.fold(MARGIN, f64::max)
    }

    /// Places the nodes of a layer side by side, in their order.
    fn spread(&mut self, layer: usize) {
        let mut x = 0.0;
        for &node in &self.layers[layer] {
            self.places[node].1 = x + self.widths[node] / 2.0;
            x += self.widths[node] + GAP;
        }
    }

    /// Moves the nodes of a layer towards their neighbours above (if `down`) or below, and then
    /// apart again where they overlap.
    fn pull(&mut self, layer: usize, down: bool) {
        let mut wanted: Vec<(f64, usize)> = Vec::new();
        for &node in &self.layers[layer] {
            let near = if down {
                &self.above[node]
            } else {
                &self.below[node]
            };
            let sum: f64 = near.iter().map(|&other| self.places[other].1).sum();
            let middle = if near.is_empty() {
                self.places[node].1
            } else {
                sum / near.len() as f64
            };
            wanted.push((middle, node));
        }
        wanted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut end = f64::NEG_INFINITY;
        for &(middle, node) in &wanted {
            let half = self.widths[node] / 2.0;
            let x = middle.max(end + half);
            self.places[node].1 = x;
            end = x + half + GAP;
        }
        // So far nodes were only pushed to the right, so the whole layer is moved back to the left.
        let moved: f64 = wanted
            .iter()
            .map(|&(middle, node)| self.places[node].1 - middle)
            .sum();
        let back = moved / wanted.len().max(1) as f64;
        for &(_, node) in &wanted {
            self.places[node].1 -= back;
        }
        self.layers[layer] = wanted.into_iter().map(|(_, node)| node).collect();
    }
}
