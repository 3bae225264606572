//! The integration with axum.
