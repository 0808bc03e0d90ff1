<?php
/**
 * The settings page: the connection, and the public half of the key.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

/**
 * Shows the page.
 */
function interlock_bridge_show_settings_page(): void {
	if ( ! current_user_can( 'manage_options' ) ) {
		return;
	}
	echo '<div class="wrap interlock-bridge"><h1>' . esc_html__( 'Interlock Bridge', 'interlock-bridge' ) . '</h1>';
	interlock_bridge_show_settings_form();
	interlock_bridge_show_key();
	echo '</div>';
}

/**
 * Shows the form of the settings.
 */
function interlock_bridge_show_settings_form(): void {
	$hints = array(
		'gateway_url' => __( 'Where your gateway listens for sites, for example https://gateway.example.org. It must be https, unless the gateway runs on this same machine.', 'interlock-bridge' ),
		'site_id'     => __( 'Printed by "interlock site create". It names this site in every token.', 'interlock-bridge' ),
		'tenant_id'   => __( 'Whose site it is at the gateway.', 'interlock-bridge' ),
		'kid'         => __( 'Name of the public key below at the gateway. Leave it empty unless the key was registered under another name than its thumbprint.', 'interlock-bridge' ),
		'audience'    => __( 'Leave "interlock" unless the operator of the gateway says otherwise.', 'interlock-bridge' ),
	);
	echo '<form class="interlock-bridge-card" method="post" action="' . esc_url( admin_url( 'options.php' ) ) . '"><h2>' . esc_html__( 'Connection', 'interlock-bridge' ) . '</h2>';
	settings_fields( 'interlock_bridge' );
	echo '<table class="form-table" role="presentation"><tbody>';
	$settings = interlock_bridge_settings();
	foreach ( interlock_bridge_setting_labels() as $name => $label ) {
		$id = 'interlock-bridge-' . $name;
		echo '<tr><th scope="row"><label for="' . esc_attr( $id ) . '">' . esc_html( $label ) . '</label></th><td>';
		echo '<input class="regular-text code" type="' . esc_attr( 'gateway_url' === $name ? 'url' : 'text' ) . '" id="' . esc_attr( $id ) . '" name="' . esc_attr( INTERLOCK_BRIDGE_OPTION . '[' . $name . ']' ) . '" value="' . esc_attr( $settings[ $name ] ) . '" autocomplete="off" spellcheck="false" aria-describedby="' . esc_attr( $id . '-hint' ) . '">';
		echo '<p class="description" id="' . esc_attr( $id . '-hint' ) . '">' . esc_html( $hints[ $name ] ) . '</p></td></tr>';
	}
	echo '</tbody></table>';
	submit_button();
	echo '</form>';
}

/**
 * Shows the public half of the key, or what is wrong with the file.
 */
function interlock_bridge_show_key(): void {
	$key = interlock_bridge_load_key();
	echo '<section id="interlock-bridge-key" class="interlock-bridge-card"><h2>' . esc_html__( 'Key', 'interlock-bridge' ) . '</h2>';
	if ( is_wp_error( $key ) ) {
		echo '<div class="notice notice-error inline" data-code="' . esc_attr( (string) $key->get_error_code() ) . '"><p>' . esc_html( $key->get_error_message() ) . '</p></div>';
		interlock_bridge_show_key_making();
	} else {
		interlock_bridge_show_public_key( $key );
	}
	echo '</section>';
}

/**
 * Says how a key is made.
 */
function interlock_bridge_show_key_making(): void {
	echo '<p>' . esc_html__( 'Make a key on this server, as the account that runs PHP, in a folder outside the web root, and name it in wp-config.php:', 'interlock-bridge' ) . '</p>';
	echo '<pre><code>' . esc_html( "umask 077\nopenssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072 -out /path/outside/the/web/root/interlock.pem" ) . '</code></pre>';
	echo '<pre><code>' . esc_html( "define( 'INTERLOCK_KEY_FILE', '/path/outside/the/web/root/interlock.pem' );" ) . '</code></pre>';
}

/**
 * Shows what the gateway needs to know of the key. All of it is public.
 *
 * @param array $key As interlock_bridge_load_key() returns it.
 */
function interlock_bridge_show_public_key( array $key ): void {
	$jwk = interlock_bridge_jwk( $key['modulus'], $key['exponent'] );
	/* translators: %d: number of bits. */
	echo '<p><span class="interlock-bridge-badge is-good">' . esc_html__( 'Ready', 'interlock-bridge' ) . '</span> ' . esc_html( sprintf( __( 'RSA, %d bits. Only this server holds the private key.', 'interlock-bridge' ), $key['bits'] ) ) . '</p>';
	echo '<p>' . esc_html__( 'Save this public key to a file, site.jwk, and have the operator of the gateway register it:', 'interlock-bridge' ) . '</p>';
	echo '<pre><code>' . esc_html( interlock_bridge_registration_line( interlock_bridge_settings() ) ) . '</code></pre>';
	echo '<p><label for="interlock-bridge-jwk">' . esc_html__( 'Public key (JWK)', 'interlock-bridge' ) . '</label>';
	echo '<textarea id="interlock-bridge-jwk" class="code" rows="5" readonly>' . esc_textarea( $jwk ) . '</textarea></p>';
	echo '<p>' . esc_html__( 'Thumbprint (RFC 7638), which is its name at the gateway:', 'interlock-bridge' ) . ' <code id="interlock-bridge-thumbprint">' . esc_html( interlock_bridge_thumbprint( $jwk ) ) . '</code></p>';
}

/**
 * The gateway's command that registers the key.
 *
 * @param array<string, string> $settings As interlock_bridge_settings() returns them.
 */
function interlock_bridge_registration_line( array $settings ): string {
	$line = 'interlock site key add ' . ( $settings['site_id'] ? $settings['site_id'] : 'SITE_ID' ) . ' site.jwk --tenant ' . ( $settings['tenant_id'] ? $settings['tenant_id'] : 'TENANT_ID' );
	return '' === $settings['kid'] ? $line : $line . ' --kid ' . escapeshellarg( $settings['kid'] );
}
