<?php
/**
 * Calls of the gateway. This is the only file that sends anything from this
 * site, and the only one that holds a token.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

/**
 * How long one try and one whole call with its second try may take, in
 * seconds; and the longest wait, in milliseconds, before the second.
 */
const INTERLOCK_BRIDGE_TRY_SECONDS  = 20;
const INTERLOCK_BRIDGE_CALL_SECONDS = 30;
const INTERLOCK_BRIDGE_MAX_WAIT_MS  = 2000;

/**
 * Calls the gateway, a second time where the first failed in a way that may
 * pass: with a new token, and with the same idempotency key, so that both are
 * one call.
 *
 * @param string                $path  Path of the call, from /api/v1/ on.
 * @param string                $scope The scope that it needs.
 * @param array<string, string> $body  The JSON object to send.
 * @param string                $key   Idempotency key; '': none.
 * @return array|WP_Error What interlock_bridge_read_envelope() read, its ok
 *                        true. The error's code is the gateway's, or one of
 *                        ours: settings_missing, a key_ code,
 *                        gateway_unreachable, gateway_not_understood.
 */
function interlock_bridge_call( string $path, string $scope, array $body, string $key = '' ) {
	$missing = interlock_bridge_missing_settings();
	if ( $missing ) {
		/* translators: %s: list of settings. */
		return new WP_Error( 'settings_missing', sprintf( __( 'The connection is not set up yet. Missing: %s.', 'interlock-bridge' ), implode( ', ', $missing ) ) );
	}
	$signer = interlock_bridge_load_key();
	if ( is_wp_error( $signer ) ) {
		return $signer;
	}
	$deadline = microtime( true ) + INTERLOCK_BRIDGE_CALL_SECONDS;
	$answer   = interlock_bridge_try( $path, $scope, $body, $key, $signer, INTERLOCK_BRIDGE_TRY_SECONDS );
	$wait_ms  = interlock_bridge_wait_before_retry( $answer );
	$left     = $deadline - microtime( true ) - $wait_ms / 1000;
	if ( $wait_ms >= 0 && $left >= 1 ) {
		usleep( 1000 * $wait_ms );
		$answer = interlock_bridge_try( $path, $scope, $body, $key, $signer, (int) min( INTERLOCK_BRIDGE_TRY_SECONDS, $left ) );
	}
	return $answer;
}

/**
 * Says how long to wait before a second try.
 *
 * @param array|WP_Error $answer Of the first.
 * @return int Milliseconds; negative where there is to be none.
 */
function interlock_bridge_wait_before_retry( $answer ): int {
	if ( ! is_wp_error( $answer ) ) {
		return -1;
	}
	if ( 'gateway_unreachable' === $answer->get_error_code() ) {
		return 0;
	}
	$about = (array) $answer->get_error_data();
	if ( empty( $about['retryable'] ) || $about['retry_after_ms'] > INTERLOCK_BRIDGE_MAX_WAIT_MS ) {
		return -1;
	}
	return $about['retry_after_ms'];
}

/**
 * Tries a call once.
 *
 * @param string                $path    As of interlock_bridge_call().
 * @param string                $scope   Likewise.
 * @param array<string, string> $body    Likewise.
 * @param string                $key     Likewise.
 * @param array                 $signer  As interlock_bridge_load_key() returns it.
 * @param int                   $seconds Longest time to take.
 * @return array|WP_Error
 */
function interlock_bridge_try( string $path, string $scope, array $body, string $key, array $signer, int $seconds ) {
	$settings = interlock_bridge_settings();
	$token    = interlock_bridge_token( $settings, $signer, $scope, time() );
	if ( '' === $token ) {
		return new WP_Error( 'key_not_rsa' );
	}
	$headers = array(
		'Authorization' => 'Bearer ' . $token,
		'Content-Type'  => 'application/json',
		'Accept'        => 'application/json',
	);
	if ( '' !== $key ) {
		$headers['Idempotency-Key'] = $key;
	}
	// Not wp_safe_remote_post(): an administrator names the gateway, and it may
	// well be in a private network.
	$response = wp_remote_post(
		$settings['gateway_url'] . '/api/v1/' . $path,
		array(
			'headers'             => $headers,
			'body'                => wp_json_encode( $body ),
			'timeout'             => $seconds,
			'redirection'         => 0,
			'sslverify'           => true,
			'limit_response_size' => INTERLOCK_BRIDGE_MAX_ANSWER,
		)
	);
	if ( is_wp_error( $response ) ) {
		return new WP_Error( 'gateway_unreachable', '', array( 'detail' => $response->get_error_message() ) );
	}
	return interlock_bridge_read_response( $response );
}

/**
 * Reads a response.
 *
 * @param array $response As wp_remote_post() returns it.
 * @return array|WP_Error
 */
function interlock_bridge_read_response( array $response ) {
	$type     = wp_remote_retrieve_header( $response, 'content-type' );
	$envelope = interlock_bridge_read_envelope( (int) wp_remote_retrieve_response_code( $response ), is_string( $type ) ? $type : '', wp_remote_retrieve_body( $response ) );
	if ( null === $envelope ) {
		return new WP_Error( 'gateway_not_understood' );
	}
	if ( $envelope['ok'] ) {
		return $envelope;
	}
	$about               = $envelope['error'];
	$about['request_id'] = $envelope['request_id'];
	return new WP_Error( $about['code'], '', $about );
}
