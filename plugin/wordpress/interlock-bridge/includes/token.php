<?php
/**
 * Tokens (RS256) and the public half of the key that signs them.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

/**
 * How long a token is good for, in seconds. It is used once, at once.
 */
const INTERLOCK_BRIDGE_TOKEN_SECONDS = 120;

/**
 * Encodes as RFC 7515 does: base64url without padding.
 *
 * @param string $bytes Any bytes.
 */
function interlock_bridge_base64url( string $bytes ): string {
	return rtrim( strtr( base64_encode( $bytes ), '+/', '-_' ), '=' ); // phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions.obfuscation_base64_encode -- The encoding of tokens.
}

/**
 * Signs a token for one call.
 *
 * @param array<string, string> $settings As interlock_bridge_settings() returns them.
 * @param array                 $key      As interlock_bridge_load_key() returns it.
 * @param string                $scope    The one scope that the call needs.
 * @param int                   $now      Unix time.
 * @return string The token, or '' where it could not be signed.
 */
function interlock_bridge_token( array $settings, array $key, string $scope, int $now ): string {
	$header = array(
		'alg' => 'RS256',
		'typ' => 'at+jwt',
		'kid' => '' === $settings['kid'] ? interlock_bridge_thumbprint( interlock_bridge_jwk( $key['modulus'], $key['exponent'] ) ) : $settings['kid'],
	);
	$claims = array(
		'iss'       => $settings['site_id'],
		'sub'       => $settings['tenant_id'],
		'aud'       => $settings['audience'],
		'client_id' => $settings['site_id'],
		'scope'     => $scope,
		'iat'       => $now,
		'exp'       => $now + INTERLOCK_BRIDGE_TOKEN_SECONDS,
		'jti'       => bin2hex( random_bytes( 16 ) ),
	);
	$signed = interlock_bridge_base64url( json_encode( $header, JSON_UNESCAPED_SLASHES ) ) . '.' . interlock_bridge_base64url( json_encode( $claims, JSON_UNESCAPED_SLASHES ) ); // phpcs:ignore WordPress.WP.AlternativeFunctions.json_encode_json_encode -- Also runs without WordPress.

	$signature = '';
	if ( ! openssl_sign( $signed, $signature, $key['private'], OPENSSL_ALGO_SHA256 ) ) {
		return '';
	}
	return $signed . '.' . interlock_bridge_base64url( $signature );
}

/**
 * The public key as a JWK, its members in the order of RFC 7638.
 *
 * @param string $modulus  Bytes of the modulus.
 * @param string $exponent Bytes of the public exponent.
 */
function interlock_bridge_jwk( string $modulus, string $exponent ): string {
	$jwk = array(
		'e'   => interlock_bridge_base64url( $exponent ),
		'kty' => 'RSA',
		'n'   => interlock_bridge_base64url( $modulus ),
	);
	return json_encode( $jwk ); // phpcs:ignore WordPress.WP.AlternativeFunctions.json_encode_json_encode -- Also runs without WordPress.
}

/**
 * The JWK's thumbprint of RFC 7638, SHA-256.
 *
 * @param string $jwk What interlock_bridge_jwk() returned.
 */
function interlock_bridge_thumbprint( string $jwk ): string {
	return interlock_bridge_base64url( hash( 'sha256', $jwk, true ) );
}
