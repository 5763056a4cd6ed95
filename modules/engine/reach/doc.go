// Package reach knows which changes may affect the ways in which a host is reached: after a mistake, there may be no
// way left to correct it.
package reach
