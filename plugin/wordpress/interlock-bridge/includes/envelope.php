<?php
/**
 * Reads the gateway's envelope. Nothing of it is believed before it has the
 * right shape, and only the fields that the plugin knows are taken.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

/**
 * The most that is read of an answer, in bytes.
 */
const INTERLOCK_BRIDGE_MAX_ANSWER = 65536;

/**
 * Reads an answer.
 *
 * @param int    $status       HTTP status.
 * @param string $content_type Header.
 * @param string $body         Body.
 * @return array{ok: bool, data: array, error: array, request_id: string, quota: array}|null Null where it is no envelope.
 */
function interlock_bridge_read_envelope( int $status, string $content_type, string $body ) {
	if ( 'application/json' !== strtolower( trim( explode( ';', $content_type )[0] ) ) || strlen( $body ) >= INTERLOCK_BRIDGE_MAX_ANSWER ) {
		return null;
	}
	$envelope = json_decode( $body, true, 12, JSON_BIGINT_AS_STRING );
	if ( ! is_array( $envelope ) || ! isset( $envelope['ok'] ) || ! is_bool( $envelope['ok'] ) ) {
		return null;
	}
	$ok = $envelope['ok'];
	if ( ( $status >= 200 && $status < 300 ) !== $ok ) {
		return null;
	}
	$part  = static function ( string $name ) use ( $envelope ): array {
		return isset( $envelope[ $name ] ) && is_array( $envelope[ $name ] ) ? $envelope[ $name ] : array();
	};
	$meta  = $part( 'meta' );
	$error = $part( 'error' );
	$code  = interlock_bridge_text( $error, 'code', 64 );
	if ( $ok ? ! isset( $envelope['data'] ) || ! is_array( $envelope['data'] ) : ! preg_match( '/\A[a-z][a-z0-9_]*\z/', $code ) ) {
		return null;
	}
	return array(
		'ok'         => $ok,
		'data'       => $part( 'data' ),
		'error'      => array(
			'code'           => $code,
			'detail'         => interlock_bridge_text( $error, 'detail', 500 ),
			'retryable'      => isset( $error['retryable'] ) && true === $error['retryable'],
			'retry_after_ms' => interlock_bridge_count( $error, 'retry_after_ms' ),
		),
		'request_id' => interlock_bridge_text( $meta, 'request_id', 80 ),
		'quota'      => interlock_bridge_read_quota( $meta ),
	);
}

/**
 * The quota after the call, or an empty array.
 *
 * @param array $meta Of the envelope.
 * @return array{limit: int, remaining: int, resets_at: string}|array{}
 */
function interlock_bridge_read_quota( array $meta ): array {
	$quota = isset( $meta['quota'] ) && is_array( $meta['quota'] ) ? $meta['quota'] : array();
	if ( ! isset( $quota['limit'], $quota['remaining'] ) ) {
		return array();
	}
	return array(
		'limit'     => interlock_bridge_count( $quota, 'limit' ),
		'remaining' => interlock_bridge_count( $quota, 'remaining' ),
		'resets_at' => interlock_bridge_text( $quota, 'resets_at', 40 ),
	);
}

/**
 * A text out of hostile data: '' unless it is one, in UTF-8, cut at the limit.
 *
 * @param array  $from  Decoded JSON object.
 * @param string $name  Member.
 * @param int    $limit Most characters.
 */
function interlock_bridge_text( array $from, string $name, int $limit ): string {
	if ( ! isset( $from[ $name ] ) || ! is_string( $from[ $name ] ) ) {
		return '';
	}
	return preg_match( '/\A.{0,' . $limit . '}/us', $from[ $name ], $found ) ? $found[0] : '';
}

/**
 * A number that is not negative out of hostile data, else 0.
 *
 * @param array  $from Decoded JSON object.
 * @param string $name Member.
 */
function interlock_bridge_count( array $from, string $name ): int {
	return isset( $from[ $name ] ) && is_int( $from[ $name ] ) ? max( 0, $from[ $name ] ) : 0;
}
