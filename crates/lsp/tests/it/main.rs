//! Tests the server with a client that speaks the protocol over a connection in memory.

mod client;
mod corpus;
mod edits;
mod features;
mod includes;
mod protocol;
mod searches;
